/**
 * What a new control-plane machine gets of the cluster: its authorities and keys, and the flags that all
 * API servers must share. It lies in the Secret `kube-system/kubeadm-certs`, in kubeadm's form: every value
 * is encrypted (AES-256-GCM, nonce in front) with a key that only the printed command has. The Secret
 * belongs to a bootstrap token of two hours, and goes with it.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** Values by the names of their files. */
export type ControlPlaneFiles = Readonly<Record<string, string>>;

export const CERTS_SECRET = { namespace: "kube-system", name: "kubeadm-certs" };
export const CERTS_TTL_MS = 2 * 3_600_000;
export const CERTS_TOKEN_DESCRIPTION = "Proxy for managing TTL for the kubeadm-certs secret";

/** The flags of `k8ts up` that the machines share, as JSON. */
export const SETTINGS_FILE = "k8ts-settings.json";

/** Where each value lies below `pki`. */
export const PKI_FILES: Readonly<Record<string, string>> = {
  "ca.crt": "ca.crt",
  "ca.key": "ca.key",
  "front-proxy-ca.crt": "front-proxy-ca.crt",
  "front-proxy-ca.key": "front-proxy-ca.key",
  "sa.key": "sa.key",
  "sa.pub": "sa.pub",
  "etcd-ca.crt": "etcd/ca.crt",
  "etcd-ca.key": "etcd/ca.key",
  "external-etcd-ca.crt": "external-etcd-ca.crt",
  "external-etcd.crt": "external-etcd.crt",
  "external-etcd.key": "external-etcd.key",
  "encryption.yaml": "encryption.yaml",
};

const ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function newCertificateKey(): string {
  return randomBytes(KEY_BYTES).toString("hex");
}

export function isCertificateKey(text: string): boolean {
  return /^[0-9a-f]{64}$/i.test(text);
}

/** The data of the Secret, in base64. */
export function encryptFiles(files: ControlPlaneFiles, keyHex: string): Record<string, string> {
  const key = Buffer.from(keyHex, "hex");
  const seal = (text: string): string => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, key, nonce);
    const sealed = [cipher.update(text, "utf8"), cipher.final()];
    return Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]).toString("base64");
  };
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [name, seal(text)]));
}

/** Undefined if it is another key, or if the data was changed. */
export function decryptFiles(
  data: Readonly<Record<string, string>>,
  keyHex: string,
): ControlPlaneFiles | undefined {
  const key = Buffer.from(keyHex, "hex");
  const open = (base64: string): string => {
    const bytes = Buffer.from(base64, "base64");
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const sealed = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
    return Buffer.concat([decipher.update(sealed), decipher.final()]).toString("utf8");
  };
  try {
    return Object.fromEntries(Object.entries(data).map(([name, text]) => [name, open(text)]));
  } catch {
    return undefined;
  }
}
