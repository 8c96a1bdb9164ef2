/**
 * The embedded store of a data directory. A directory that held a cluster before is never taken for a
 * new one: where its store is missing or damaged the start is refused, unless --new-cluster was given.
 * Then what is left of the store is moved aside.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type Store, StoreError } from "#store/contract.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import type { HistoryPolicy } from "#store/history-policy.ts";

/** Raised when a version of this program can no longer read what earlier ones wrote, or the reverse. */
const FORMAT = "1";
const FORMAT_FILE = "format";

export interface OwnStoreFlags {
  readonly dataDir: string;
  readonly newCluster: boolean;
  readonly history?: HistoryPolicy | undefined;
}

export async function openOwnStore(
  { dataDir, newCluster, history }: OwnStoreFlags,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<Store> {
  const directory = join(dataDir, "store");
  refuseOtherFormat(directory);
  const options = { directory, clock, ...(history === undefined ? {} : { history }) };
  try {
    const store = await openEmbeddedStore({ ...options, mustExist: heldCluster(dataDir) });
    rememberFormat(directory);
    return store;
  } catch (error) {
    if (!(error instanceof StoreError) || error.problem.code !== "Corrupt") throw error;
    if (!newCluster) throw new StoreError(error.problem, `${error.message}\n${advice(dataDir)}`);
    const aside = moveAside(directory);
    logger.warn("a new cluster begins, because of --new-cluster", { why: error.message, aside });
    return await openEmbeddedStore(options);
  }
}

/** Data without the file was written before there was one. */
function refuseOtherFormat(directory: string): void {
  const file = join(directory, FORMAT_FILE);
  const found = existsSync(file) ? readFileSync(file, "utf8").trim() : FORMAT;
  if (found === FORMAT) return;
  throw new Error(
    `the data in ${directory} is of another version of k8ts: its format is ${JSON.stringify(found.slice(0, 20))}, this version reads ${JSON.stringify(FORMAT)}. Nothing was changed. Use the version that wrote it, or another data directory`,
  );
}

function rememberFormat(directory: string): void {
  const file = join(directory, FORMAT_FILE);
  if (!existsSync(file)) writeFileSync(file, `${FORMAT}\n`, { mode: 0o600 });
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
