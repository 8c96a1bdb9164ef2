/** What a node of `k8ts up` proves its identity with: certificates of the cluster's own authority. */
import { join } from "node:path";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import type { KeyPair } from "#pki/key-pair.ts";

const PROXY_USER = "system:kube-proxy";

export interface NodeCredentials {
  /** Of the kubelet's server. */
  readonly serving: { readonly cert: string; readonly key: string };
  /** Towards the API server: system:node:NAME. */
  client(): KeyPair;
  /** Of its service proxy: system:kube-proxy. */
  proxy(): KeyPair;
  /** PEM of the authority that vouches for the callers of the kubelet, and for the API server. */
  readonly clientCa: string;
}

export function nodeCredentials(
  dataDir: string,
  name: string,
  addresses: readonly string[],
  nowMs: number,
): NodeCredentials {
  const authority = openAuthority(join(dataDir, "pki", "ca"), "kubernetes", nowMs);
  const subject = { commonName: `system:node:${name}`, organizations: ["system:nodes"] };
  const altNames = [name, "localhost", "127.0.0.1", ...addresses];
  const server = issueLeaf(authority, { subject, purpose: "server auth", altNames }, nowMs);
  return {
    serving: { cert: server.certificatePem, key: server.keyPem },
    client: () => issueLeaf(authority, { subject, purpose: "client auth" }, nowMs),
    proxy: () => {
      const proxy = { commonName: PROXY_USER };
      return issueLeaf(authority, { subject: proxy, purpose: "client auth" }, nowMs);
    },
    clientCa: authority.certificatePem,
  };
}
