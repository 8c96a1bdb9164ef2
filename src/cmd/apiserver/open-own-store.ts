/**
 * The embedded store of a data directory. A directory that held a cluster before is never taken for a
 * new one: where its store is missing or damaged the start is refused, unless --new-cluster was given.
 * Then what is left of the store is moved aside.
 */
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import { type Store, StoreError } from "#store/contract.ts";
import { openEmbeddedStore } from "#store/embedded.ts";

export async function openOwnStore(
  { dataDir, newCluster }: { readonly dataDir: string; readonly newCluster: boolean },
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<Store> {
  const directory = join(dataDir, "store");
  try {
    return await openEmbeddedStore({ directory, clock, mustExist: heldCluster(dataDir) });
  } catch (error) {
    if (!(error instanceof StoreError) || error.problem.code !== "Corrupt") throw error;
    if (!newCluster) throw new StoreError(error.problem, `${error.message}\n${advice(dataDir)}`);
    const aside = moveAside(directory);
    logger.warn("a new cluster begins, because of --new-cluster", { why: error.message, aside });
    return await openEmbeddedStore({ directory, clock });
  }
}

/** Keys are made after the store, so that where they are a store has been. */
function heldCluster(dataDir: string): boolean {
  return [join("pki", "apiserver.crt"), "admin.kubeconfig"].some((file) =>
    existsSync(join(dataDir, file)),
  );
}

function advice(dataDir: string): string {
  return [
    heldCluster(dataDir)
      ? `A cluster was kept in ${dataDir}, as its keys show. Nothing was changed.`
      : "Nothing was changed.",
    `- see what is damaged: k8ts doctor --data ${dataDir}`,
    `- restore: move ${join(dataDir, "store")} away, then k8ts snapshot restore FILE --data ${dataDir}`,
    "- begin anew, with the same keys: --new-cluster; what is left of the store is moved aside",
  ].join("\n");
}

/** Answers where it is now; undefined if there was nothing. */
function moveAside(directory: string): string | undefined {
  if (!existsSync(directory)) return undefined;
  for (let n = 1; ; n++) {
    const aside = `${directory}.old-${n}`;
    if (existsSync(aside)) continue;
    renameSync(directory, aside);
    return aside;
  }
}
