/** The command line of an etcd member, for the process that k8ts supervises and for static pods. */
import { join } from "node:path";

export interface EtcdMemberPlan {
  readonly name: string;
  readonly dataDir: string;
  /** The folder `pki` with etcd's certificates. */
  readonly pki: string;
  readonly address: string;
  readonly clientPort: number;
  readonly peerPort: number;
  readonly initialCluster: readonly { readonly name: string; readonly peerUrl: string }[];
  readonly initialState: "new" | "existing";
  /** `name=value`, after all others. */
  readonly extra: readonly string[];
}

export function etcdArguments(plan: EtcdMemberPlan): string[] {
  const { name, dataDir, pki, address, clientPort, peerPort, initialCluster, extra } = plan;
  const client = urlOf(address, clientPort);
  const peer = urlOf(address, peerPort);
  const local = urlOf("127.0.0.1", clientPort);
  const tls = (file: string): string => join(pki, "etcd", file);
  const values: Readonly<Record<string, string>> = {
    name,
    "data-dir": dataDir,
    "listen-client-urls": [...new Set([local, client])].join(","),
    "advertise-client-urls": client,
    "listen-peer-urls": peer,
    "initial-advertise-peer-urls": peer,
    "initial-cluster": initialCluster.map((one) => `${one.name}=${one.peerUrl}`).join(","),
    "initial-cluster-state": plan.initialState,
    "cert-file": tls("server.crt"),
    "key-file": tls("server.key"),
    "trusted-ca-file": tls("ca.crt"),
    "client-cert-auth": "true",
    "peer-cert-file": tls("peer.crt"),
    "peer-key-file": tls("peer.key"),
    "peer-trusted-ca-file": tls("ca.crt"),
    "peer-client-cert-auth": "true",
    // A member whose data differ from the others' does not start.
    "experimental-initial-corrupt-check": "true",
    "snapshot-count": "10000",
    logger: "zap",
    "log-level": "warn",
  };
  const flags = Object.entries(values).map(([flag, value]) => `--${flag}=${value}`);
  return [...flags, ...extra.map((one) => `--${one.replace(/^--/, "")}`)];
}

/** Members and clients always use TLS. */
export function urlOf(address: string, port: number): string {
  return `https://${address.includes(":") ? `[${address}]` : address}:${port}`;
}
