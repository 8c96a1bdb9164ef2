/**
 * An etcd belongs to one cluster, and a cluster to one authority. A second `k8ts up` whose data
 * directory has keys of its own would publish another authority and sign other tokens: each would
 * refuse what the other has issued. So the first stores the mark of its authority, and a
 * server with another one is refused. If flags name the authority, this is not checked.
 */
import { createHash, createPublicKey } from "node:crypto";
import { join } from "node:path";
import { type Store, StoreError } from "#store/contract.ts";
import type { ApiServerFlags } from "./flags/flags.ts";

/** Beside the keys of Kubernetes' objects. */
const MARK_KEY = "/k8ts.io/cluster-authority";

export async function claimSharedStore(
  store: Store,
  authorityPem: string,
  { dataDir, etcdPrefix }: Pick<ApiServerFlags, "dataDir" | "etcdPrefix">,
): Promise<void> {
  // Clusters with keys below other prefixes may share the etcd.
  const markKey = etcdPrefix === "/registry" ? MARK_KEY : `${MARK_KEY}${etcdPrefix}`;
  const own = markOf(authorityPem);
  const wrote = await store.put(markKey, Buffer.from(own), { mustNotExist: true });
  if (wrote.ok) return;
  const there = Buffer.from(wrote.current?.value ?? new Uint8Array()).toString();
  if (there === own) return;
  throw new StoreError(
    { code: "InUse" },
    `this etcd belongs to a cluster with another certificate authority (${there}; ` +
      `${join(dataDir, "pki")} has ${own}). Copy the pki folder of that cluster's data directory ` +
      `to ${dataDir}, or name its files with flags. If it is lost, delete the key ${markKey}`,
  );
}

/** The key counts, not the certificate, which is renewed. */
function markOf(authorityPem: string): string {
  const key = createPublicKey(authorityPem).export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}
