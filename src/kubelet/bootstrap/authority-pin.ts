/** Pins of certificate authorities: `sha256:` and the hash of the public key, as kubeadm writes them. */
import { createHash, X509Certificate } from "node:crypto";

const PIN = /^sha256:[0-9a-f]{64}$/;

export function isAuthorityPin(text: string): boolean {
  return PIN.test(text.toLowerCase());
}

export function pinOfAuthority(certificatePem: string): string {
  const key = new X509Certificate(certificatePem).publicKey;
  const bytes = key.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
