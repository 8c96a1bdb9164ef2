/**
 * Every key and certificate that a cluster needs, in one directory, made at the first start.
 *
 * Promises:
 * 1. What is there and valid is kept; what is missing or due is made again. The authorities' and
 *    the service accounts' keys are never replaced: a damaged one is an error that says which file.
 * 2. Files are replaced as a whole. Certificates and public keys are 0644, all others 0600.
 * 3. `run` renews certificates that come due while the server lives and calls the listeners.
 *
 * The layout is kubeadm's (`ca`, `apiserver`, `apiserver-kubelet-client`, `front-proxy-ca`,
 * `front-proxy-client`, `sa`), so that tools find their way. Kubeconfigs lie one level up.
 */
import { createPublicKey } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type Authority, issueLeaf, type LeafRequest, openAuthority } from "./authority.ts";
import { ensureLeaf, isGoodLeaf } from "./ensure-leaf.ts";
import { type KeyPair, newKey, parsePrivateKey, privateKeyPem } from "./key-pair.ts";
import { changeKubeconfig, formatKubeconfig, parseKubeconfig } from "./kubeconfig.ts";
import { readPrivateFile, writePrivateFile, writePublicFile } from "./private-file.ts";
import { DAY_MS, renewalTimeMs } from "./validity.ts";

/** Whom the certificate of the proxy before the server is made for. */
export const FRONT_PROXY_NAME = "front-proxy-client";

export interface PkiOptions {
  /** Holds `pki/` and the kubeconfigs. */
  readonly directory: string;
  /** DNS names and addresses under which clients reach the API server. */
  readonly servingNames: readonly string[];
  /** What kubeconfigs point at: `https://127.0.0.1:6443`. */
  readonly serverUrl: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface PkiMaterial {
  readonly clientCaPem: string;
  readonly frontProxyCaPem: string;
  readonly serving: KeyPair;
  /** What the API server shows to kubelets. */
  readonly kubeletClient: KeyPair;
  /** What the API server shows to aggregated servers. */
  readonly frontProxyClient: KeyPair;
  readonly serviceAccountKeyPem: string;
}

export class ClusterPki {
  #options: PkiOptions;
  readonly #listeners = new Set<(material: PkiMaterial) => void>();
  #held: Held;

  private constructor(options: PkiOptions) {
    this.#options = options;
    this.#held = ensureAll(options);
  }

  static open(options: PkiOptions): ClusterPki {
    mkdirSync(join(options.directory, "pki"), { recursive: true, mode: 0o700 });
    return new ClusterPki(options);
  }

  get material(): PkiMaterial {
    return this.#held.material;
  }

  /** Lets the kubeconfigs point at another URL, from now on. */
  pointAt(serverUrl: string): void {
    if (serverUrl === this.#options.serverUrl) return;
    this.#options = { ...this.#options, serverUrl };
    this.#held = ensureAll(this.#options);
  }

  /** Called whenever a certificate was renewed, with everything as it is now. */
  onRenewal(listener: (material: PkiMaterial) => void): void {
    this.#listeners.add(listener);
  }

  /** Lives until aborted. Looks at least once a day, since wall clocks jump. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      const waitMs = Math.min(DAY_MS, Math.max(1000, this.#nextRenewalMs() - clock.nowMs()));
      await clock.sleep(waitMs, signal).catch(() => undefined);
      if (signal.aborted || clock.nowMs() < this.#nextRenewalMs()) continue;
      try {
        this.#held = ensureAll(this.#options);
        logger.info("certificates renewed");
        for (const listener of this.#listeners) listener(this.#held.material);
      } catch (error) {
        logger.error("certificates could not be renewed", { error });
        await clock.sleep(60_000, signal).catch(() => undefined);
      }
    }
  }

  #nextRenewalMs(): number {
    return Math.min(...this.#held.certificates.map(renewalTimeMs));
  }
}

interface Held {
  readonly material: PkiMaterial;
  /** Everything that comes due one day, those in kubeconfigs too. */
  readonly certificates: readonly string[];
}

/** The names of the `kubernetes` Service and of this machine. */
export function servingNames(
  clusterDomain: string,
  hostname: string,
  addresses: readonly string[],
): string[] {
  const service = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"];
  const names = [...service, `kubernetes.default.svc.${clusterDomain}`, "localhost", hostname];
  return [...new Set([...names, "127.0.0.1", "::1", ...addresses])].filter((name) => name !== "");
}

const KUBECONFIGS: readonly { file: string; user: string; groups?: readonly string[] }[] = [
  { file: "admin.kubeconfig", user: "kubernetes-admin", groups: ["system:masters"] },
  { file: "controller-manager.kubeconfig", user: "system:kube-controller-manager" },
  { file: "scheduler.kubeconfig", user: "system:kube-scheduler" },
];

function ensureAll(options: PkiOptions): Held {
  const nowMs = options.clock.nowMs();
  const file = (name: string): string => join(options.directory, "pki", name);
  const ca = openAuthority(file("ca"), "kubernetes", nowMs);
  const frontProxyCa = openAuthority(file("front-proxy-ca"), "front-proxy-ca", nowMs);
  const leaf = (authority: Authority, name: string, request: LeafRequest): KeyPair =>
    ensureLeaf(authority, file(name), request, options);

  const material: PkiMaterial = {
    clientCaPem: ca.certificatePem,
    frontProxyCaPem: frontProxyCa.certificatePem,
    serving: leaf(ca, "apiserver", {
      subject: { commonName: "kube-apiserver" },
      purpose: "server auth",
      altNames: options.servingNames,
    }),
    kubeletClient: leaf(ca, "apiserver-kubelet-client", {
      subject: { commonName: "kube-apiserver-kubelet-client", organizations: ["system:masters"] },
      purpose: "client auth",
    }),
    frontProxyClient: leaf(frontProxyCa, "front-proxy-client", {
      subject: { commonName: FRONT_PROXY_NAME },
      purpose: "client auth",
    }),
    serviceAccountKeyPem: ensureServiceAccountKey(file("sa")),
  };
  const { serving, kubeletClient, frontProxyClient } = material;
  const clients = KUBECONFIGS.map((config) => ensureKubeconfig(ca, config, options));
  return {
    material,
    certificates: [ca, frontProxyCa, serving, kubeletClient, frontProxyClient, ...clients].map(
      ({ certificatePem }) => certificatePem,
    ),
  };
}

function ensureServiceAccountKey(path: string): string {
  const [keyFile, publicFile] = [`${path}.key`, `${path}.pub`];
  const found = readPrivateFile(keyFile);
  const keyPem = found ?? privateKeyPem(newKey().privateKey);
  const publicKey = createPublicKey(parsePrivateKey(keyPem, keyFile));
  if (found === undefined) writePrivateFile(keyFile, keyPem, true);
  const publicPem = publicKey.export({ type: "spki", format: "pem" }).toString();
  if (readPrivateFile(publicFile) !== publicPem) writePublicFile(publicFile, publicPem);
  return keyPem;
}

function ensureKubeconfig(
  ca: Authority,
  { file, user, groups = [] }: (typeof KUBECONFIGS)[number],
  { directory, serverUrl, clock }: PkiOptions,
): KeyPair {
  const path = join(directory, file);
  const request: LeafRequest = {
    subject: { commonName: user, organizations: groups },
    purpose: "client auth",
  };
  const text = readPrivateFile(path) ?? "";
  const old = parseKubeconfig(text);
  const good = old && isGoodLeaf(old.client.certificatePem, ca, request, clock.nowMs());
  const same = old?.server === serverUrl && old.authorityPem === ca.certificatePem;
  if (good && same) return old.client;
  const client = good ? old.client : issueLeaf(ca, request, clock.nowMs());
  const content = { server: serverUrl, authorityPem: ca.certificatePem, user, client };
  // What the user added to the file stays.
  writePrivateFile(path, old ? changeKubeconfig(text, content) : formatKubeconfig(content));
  return client;
}
