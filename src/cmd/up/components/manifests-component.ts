/**
 * Manifests as a component of `k8ts up`: the objects of `DIR/manifests` and of `--manifests` are applied
 * at the start and when a file changes, and removed when they go from the files. What fails is logged,
 * shown by `k8ts status`, and tried again.
 */
import { watch } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "#client/client.ts";
import { untilAborted } from "#lib/async/aborted.ts";
import { deferred } from "#lib/async/deferred.ts";
import { messageOf } from "#lib/caught.ts";
import { isShared } from "../../apiserver/open-store.ts";
import type { ClusterContext, RunComponent } from "../component.ts";
import { applyManifests, FIELD_MANAGER } from "../manifests/apply-manifests.ts";

const ADMIN = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
/** Files are written in several steps. */
const SETTLE_MS = 200;
/** Doubled while something is wrong. */
const RETRY_MS = 1_000;
const RETRY_MAX_MS = 60_000;

export const runManifests: RunComponent = (cluster, signal) => {
  const folders = foldersOf(cluster);
  return { ready: folders.then(() => undefined), done: run(cluster, folders, signal) };
};

async function foldersOf({ flags }: ClusterContext): Promise<readonly string[]> {
  const own = join(flags.server.dataDir, "manifests");
  await mkdir(own, { recursive: true, mode: 0o700 });
  const { manifests } = flags;
  if (manifests === undefined) return [own];
  const isFolder = await stat(manifests).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) throw new Error(`--manifests: ${manifests} is not a directory`);
  return [own, manifests];
}

async function run(
  cluster: ClusterContext,
  opening: Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, logger, flags, hostname } = cluster;
  const folders = await opening;
  const transport = cluster.transportAs(ADMIN, FIELD_MANAGER);
  const client = new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
  const inventory = isShared(flags.server)
    ? `k8ts-manifests-${hostname.toLowerCase()}`
    : "k8ts-manifests";
  const { resources } = cluster.server().api;
  const findKind = resources.findKind.bind(resources);
  let changed = deferred<void>();
  for (const folder of folders) {
    watch(folder, { signal, persistent: false, recursive: true }, () => changed.resolve()).on(
      "error",
      (error) => logger.warn("manifests are not watched", { folder, error }),
    );
  }
  let retryMs = RETRY_MS;
  while (!signal.aborted) {
    changed = deferred<void>();
    const faults = await applyManifests({ client, folders, inventory, findKind }, signal).catch(
      (error: unknown) => (signal.aborted ? [] : [messageOf(error)]),
    );
    for (const fault of faults) logger.warn("a manifest is not applied", { fault });
    const wait = new AbortController();
    const either = AbortSignal.any([signal, wait.signal]);
    const waited = faults.length === 0 ? untilAborted(either) : clock.sleep(retryMs, either);
    retryMs = faults.length === 0 ? RETRY_MS : Math.min(retryMs * 2, RETRY_MAX_MS);
    await Promise.race([changed.promise, waited.catch(() => undefined)]);
    wait.abort();
    await clock.sleep(SETTLE_MS, signal).catch(() => undefined);
  }
}
