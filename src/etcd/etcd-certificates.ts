/**
 * Keys and certificates of a managed etcd, beside those of the cluster and in kubeadm's layout: an
 * authority of etcd's own (`etcd/ca`), one certificate for clients and one for the other members, and
 * what API servers show to etcd. etcd reads them again for each connection, so renewal needs no restart.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TlsOptions } from "#lib/http2/connect-http2.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { openAuthority } from "#pki/authority.ts";
import { ensureLeaf } from "#pki/ensure-leaf.ts";

export interface EtcdCertificateOptions {
  /** The folder `pki` of a data directory. */
  readonly directory: string;
  /** Names and addresses under which clients and other members reach this one. */
  readonly names: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

const BOTH = ["server auth", "client auth"] as const;

export function ensureEtcdCertificates(options: EtcdCertificateOptions): void {
  const { directory, names, clock } = options;
  mkdirSync(join(directory, "etcd"), { recursive: true, mode: 0o700 });
  const authority = openAuthority(join(directory, "etcd", "ca"), "etcd-ca", clock.nowMs());
  const altNames = [...new Set(["localhost", "127.0.0.1", "::1", ...names])];
  const commonName = names[0] ?? "etcd";
  for (const file of ["server", "peer"]) {
    const request = { subject: { commonName }, purpose: BOTH, altNames };
    ensureLeaf(authority, join(directory, "etcd", file), request, options);
  }
  for (const [file, name] of Object.entries(CLIENTS)) {
    const request = { subject: { commonName: name }, purpose: "client auth" } as const;
    ensureLeaf(authority, join(directory, file), request, options);
  }
}

const CLIENTS: Readonly<Record<string, string>> = {
  "apiserver-etcd-client": "kube-apiserver-etcd-client",
  "etcd/healthcheck-client": "kube-etcd-healthcheck-client",
};

/** The flags of an API server for such an etcd. */
export function etcdClientFiles(directory: string): { ca: string; cert: string; key: string } {
  return {
    ca: join(directory, "etcd", "ca.crt"),
    cert: join(directory, "apiserver-etcd-client.crt"),
    key: join(directory, "apiserver-etcd-client.key"),
  };
}

export function etcdClientTls(directory: string): TlsOptions {
  const { ca, cert, key } = etcdClientFiles(directory);
  return { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
}
