/**
 * The volumes of pods.
 *
 * Promises:
 * 1. `setUp` answers once every volume of the pod is in place, or throws VolumeError with the first
 *    thing that stands in the way. Calling it again brings changed objects into the files.
 * 2. `tearDown` leaves nothing: mounts are gone before folders are removed, and a folder in which
 *    something is still mounted is never emptied.
 */
import { join } from "node:path";
import type { Pod, Volume } from "#api/generated/core.v1.ts";
import { listFolder, removeTree } from "#host/files.ts";
import { listMounts, unmountBelow } from "#host/mounts.ts";
import type { PodPlace } from "#kubelet/decide/inputs/downward-api.ts";
import type { MeasureStorage } from "#kubelet/node/kubelet-metrics.ts";
import {
  type PodPaths,
  pluginFolder,
  podFolder,
  volumeDevicesFolder,
  volumeFolder,
  volumesFolder,
} from "#kubelet/pods/pod-paths.ts";
import { KnownClaims } from "./claims.ts";
import { applyFsGroup } from "./fs-group.ts";
import { requireNodeAffinity } from "./node-affinity.ts";
import { volumePlugins } from "./plugins.ts";
import { NO_PLUGIN, qualifiedPluginName, VolumeCounts } from "./volume-counts.ts";
import {
  type MountedVolume,
  VolumeError,
  VolumePending,
  type VolumePlugin,
  type VolumeTools,
} from "./volume-plugin.ts";
import {
  filesystemStats,
  folderStats,
  type MeasuredVolume,
  type VolumeStats,
  VolumeStatsCache,
} from "./volume-stats.ts";

/** Content that the kubelet does not own is left as it is. */
const UNMANAGED = new Set(["kubernetes.io/host-path", "kubernetes.io/nfs"]);

export class PodVolumes {
  readonly #tools: VolumeTools;
  readonly #paths: PodPaths;
  /** Volumes whose ownership was set in the life of this kubelet. */
  readonly #owned = new Set<string>();

  readonly #claims = new KnownClaims();
  readonly #plugins: readonly VolumePlugin[];
  readonly #measure: MeasureStorage;

  /** `more`: plug-ins beside those that every kubelet has. */
  constructor(
    tools: VolumeTools,
    paths: PodPaths,
    more: readonly VolumePlugin[] = [],
    measure: MeasureStorage = (_plugin, _operation, work) => work(),
  ) {
    this.#tools = tools;
    this.#paths = paths;
    this.#measure = measure;
    this.#plugins = [...volumePlugins, ...more];
    this.stats = new VolumeStatsCache(tools.clock, tools.logger);
  }

  /** How full the volumes are. */
  readonly stats: VolumeStatsCache;
  readonly counts = new VolumeCounts();

  async setUp(pod: Pod, place: PodPlace): Promise<ReadonlyMap<string, MountedVolume>> {
    const mounted = new Map<string, MountedVolume>();
    const measured: MeasuredVolume[] = [];
    const volumes = usedVolumes(pod);
    const results = await Promise.allSettled(
      volumes.map(async (volume) => {
        const { result, stats } = await this.#setUpOne(pod, volume, place);
        mounted.set(volume.name, result);
        if (stats !== undefined) measured.push(stats);
      }),
    );
    for (const [i, result] of results.entries()) {
      if (result.status === "fulfilled") continue;
      if (result.reason instanceof VolumePending) throw result.reason;
      const { operation } =
        result.reason instanceof VolumeError ? result.reason : new VolumeError("");
      const why = result.reason instanceof Error ? result.reason.message : String(result.reason);
      throw new VolumeError(`${operation} failed for volume "${volumes[i]!.name}" : ${why}`);
    }
    this.stats.setVolumes(pod.metadata.uid ?? "", measured);
    return mounted;
  }

  async tearDown(uid: string): Promise<void> {
    this.stats.forget(uid);
    this.counts.unwanted(uid);
    this.#claims.forget(uid);
    const devices = volumeDevicesFolder(this.#paths, uid);
    for (const { name, tearDown, tearDownBlock } of this.#plugins) {
      const mounts = join(volumesFolder(this.#paths, uid), pluginFolder(name));
      for (const path of tearDown ? await pathsIn(mounts) : []) {
        await this.#measure(name, "volume_unmount", async () => tearDown?.(path, this.#tools));
      }
      const maps = join(devices, pluginFolder(name));
      for (const path of tearDownBlock ? await pathsIn(maps) : []) {
        await tearDownBlock?.(path, this.#tools);
      }
    }
    const top = podFolder(this.#paths, uid);
    await unmountBelow(top);
    const left = (await listMounts()).filter(({ mountPoint }) => mountPoint.startsWith(`${top}/`));
    if (left.length > 0) throw new Error(`still mounted: ${left[0]!.mountPoint}`);
    await removeTree(top);
    for (const id of this.#owned) if (id.startsWith(`${uid}/`)) this.#owned.delete(id);
    this.counts.gone(uid);
  }

  async #setUpOne(
    pod: Pod,
    volume: Volume,
    place: PodPlace,
  ): Promise<{ readonly result: MountedVolume; readonly stats: MeasuredVolume | undefined }> {
    const claimed = await this.#claims.get(this.#tools.client, pod, volume);
    const persistentVolume = claimed?.persistentVolume;
    requireNodeAffinity(persistentVolume, this.#tools.node());
    const plugin = this.#plugins.find((one) => one.accepts({ volume, persistentVolume }));
    const uid = pod.metadata.uid ?? "";
    if (plugin === undefined) {
      this.counts.want(uid, volume.name, NO_PLUGIN);
      const sort = Object.keys(persistentVolume?.spec ?? volume).filter((name) => name !== "name");
      throw new VolumeError(`no volume plugin matched (${sort.join(", ")})`);
    }
    const pluginName = qualifiedPluginName(plugin.name, volume, persistentVolume);
    this.counts.want(uid, volume.name, pluginName);
    const specName = persistentVolume?.metadata.name ?? volume.name;
    const folder = volumeFolder(this.#paths, uid, plugin.name, specName);
    const readOnly = claimed?.readOnly ?? false;
    const { claim } = claimed ?? {};
    const request = { pod, volume, persistentVolume, claim, readOnly, folder, place };
    const result = await this.#measure(plugin.name, "volume_mount", () =>
      plugin.setUp(request, this.#tools),
    );
    this.counts.mounted(uid, volume.name, pluginName);
    await this.#own(pod, volume, plugin, result);
    const isBlock = persistentVolume?.spec.volumeMode === "Block";
    const measure = isBlock ? undefined : measureOf(plugin, result);
    if (measure === undefined) return { result, stats: undefined };
    const { name = "", namespace = "" } = claim?.metadata ?? {};
    const pvcRef = claim === undefined ? {} : { pvcRef: { name, namespace } };
    return { result, stats: { name: volume.name, ...pvcRef, measure } };
  }

  async #own(
    pod: Pod,
    { name }: Volume,
    plugin: VolumePlugin,
    { hostPath, readOnly, appliesFsGroup = !UNMANAGED.has(plugin.name) }: MountedVolume,
  ): Promise<void> {
    const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
    const id = `${pod.metadata.uid}/${name}`;
    if (fsGroup === undefined || !appliesFsGroup || this.#owned.has(id)) return;
    if (!isOwnedByFiles(plugin)) {
      const onRootMismatch = fsGroupChangePolicy === "OnRootMismatch";
      await applyFsGroup(hostPath, { gid: fsGroup, readOnly, onRootMismatch });
    }
    this.#owned.add(id);
  }
}

/** hostPath volumes are not measured, as in upstream. */
function measureOf(
  { name }: VolumePlugin,
  { hostPath, stats }: MountedVolume,
): (() => Promise<VolumeStats | undefined>) | undefined {
  if (stats !== undefined) return stats;
  if (name === "kubernetes.io/host-path" || name === "kubernetes.io/csi") return undefined;
  const isOwnFilesystem = name === "kubernetes.io/nfs" || name === "kubernetes.io/local-volume";
  return () => (isOwnFilesystem ? filesystemStats(hostPath) : folderStats(hostPath));
}

/** File volumes give each file its group when they write it. */
function isOwnedByFiles({ name }: VolumePlugin): boolean {
  return /configmap|secret|downward-api|projected/.test(name);
}

async function pathsIn(folder: string): Promise<readonly string[]> {
  return (await listFolder(folder)).map((name) => join(folder, name));
}

/** Volumes that no container mounts are not set up. */
function usedVolumes({ spec }: Pod): Volume[] {
  const used = new Set<string>();
  const containers = [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  for (const { volumeMounts = [], volumeDevices = [] } of containers) {
    for (const { name } of [...volumeMounts, ...volumeDevices]) used.add(name);
  }
  return (spec.volumes ?? []).filter(({ name, image }) => used.has(name) && image === undefined);
}
