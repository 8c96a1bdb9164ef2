/** Keeps pods off nodes whose CSI drivers have attached as many volumes as they can. */
import type { PersistentVolumeClaim, Pod } from "#api/generated/core.v1.ts";
import type { CSINode } from "#api/generated/storage.v1.ts";
import {
  definePlugin,
  FITS,
  type Handle,
  type PluginFactory,
  rejected,
  SKIP,
  unresolvable,
} from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import { claimRefsOf, classNameOf, usesClaim } from "./pod-claims.ts";

const EXCEEDED = rejected("node(s) exceed max volume count");

/** Driver by volume. */
type Volumes = ReadonlyMap<string, string>;

export const nodeVolumeLimits: PluginFactory = {
  name: "NodeVolumeLimits",
  create: (_args, handle) =>
    definePlugin<Volumes, undefined>({
      name: "NodeVolumeLimits",
      preFilter: ({ pod, namespace }) => {
        for (const { name } of claimRefsOf(pod)) {
          if (handle.objects.claims.get(namespace, name) !== undefined) continue;
          const reason = `looking up PVC ${namespace}/${name}: persistentvolumeclaim "${name}" not found`;
          return unresolvable(reason);
        }
        const volumes = volumesOf(pod, handle);
        return volumes.size === 0 ? SKIP : { skip: false, state: volumes };
      },
      filter: (volumes, _pod, node) => {
        const csiNode = handle.objects.csiNodes.get(undefined, node.name);
        const missing = missingDriver(volumes, csiNode, handle);
        if (missing !== undefined)
          return rejected(`${missing} CSI driver is not installed on the node`);
        const limits = limitsOf(csiNode);
        return limits.size === 0 || fitsLimits(volumes, limits, node, handle) ? FITS : EXCEEDED;
      },
      wakeOn: [
        { event: "csi-node-added" },
        { event: "csi-node-changed" },
        { event: "csi-driver-added" },
        { event: "csi-driver-changed" },
        { event: "csi-driver-deleted" },
        { event: "pod-deleted", wakes: (_pod, deleted) => claimRefsOf(deleted).length > 0 },
        {
          event: "claim-added",
          wakes: ({ pod }, { metadata }) => usesClaim(pod, metadata.namespace, metadata.name),
        },
        { event: "volume-attachment-deleted" },
      ],
    }),
};

function limitsOf(csiNode: CSINode | undefined): ReadonlyMap<string, number> {
  const limits = new Map<string, number>();
  for (const { name, allocatable } of csiNode?.spec.drivers ?? []) {
    if (allocatable?.count !== undefined) limits.set(name, allocatable.count);
  }
  return limits;
}

function fitsLimits(
  volumes: Volumes,
  limits: ReadonlyMap<string, number>,
  node: NodeInfo,
  handle: Handle,
): boolean {
  const attached = new Map<string, string>();
  for (const { pod } of node.pods.values()) {
    if ((pod.spec.volumes ?? []).length === 0) continue;
    for (const [volume, driver] of volumesOf(pod, handle)) attached.set(volume, driver);
  }
  for (const { spec } of handle.objects.volumeAttachments.list()) {
    if (spec.nodeName !== node.name || spec.attacher === "") continue;
    const volume = handle.objects.volumes.get(undefined, spec.source.persistentVolumeName ?? "");
    const handleName = volume?.spec.csi?.volumeHandle;
    if (handleName !== undefined) attached.set(`${spec.attacher}/${handleName}`, spec.attacher);
  }
  const added = [...volumes].filter(([volume]) => !attached.has(volume));
  for (const driver of new Set(added.map(([, name]) => name))) {
    const limit = limits.get(driver);
    if (limit === undefined) continue;
    const isOurs = (name: string): boolean => name === driver;
    const count = [...attached.values()].filter(isOurs).length;
    if (count + added.filter(([, name]) => isOurs(name)).length > limit) return false;
  }
  return true;
}

/** A driver that must be installed where its volumes are used, and is not. */
function missingDriver(
  volumes: Volumes,
  csiNode: CSINode | undefined,
  { objects }: Handle,
): string | undefined {
  const installed = new Set((csiNode?.spec.drivers ?? []).map(({ name }) => name));
  for (const driver of new Set(volumes.values())) {
    const spec = objects.csiDrivers.get(undefined, driver)?.spec;
    if (spec?.preventPodSchedulingIfMissing === true && !installed.has(driver)) return driver;
  }
  return undefined;
}

function volumesOf(pod: Pod, handle: Handle): Volumes {
  const volumes = new Map<string, string>();
  for (const { name } of claimRefsOf(pod)) {
    const claim = handle.objects.claims.get(pod.metadata.namespace, name);
    const found = claim === undefined ? undefined : driverOf(claim, handle);
    if (found !== undefined) volumes.set(`${found.driver}/${found.volume}`, found.driver);
  }
  return volumes;
}

function driverOf(
  claim: PersistentVolumeClaim,
  { objects }: Handle,
): { readonly driver: string; readonly volume: string } | undefined {
  const volume = objects.volumes.get(undefined, claim.spec.volumeName ?? "");
  if (volume !== undefined) {
    const { csi } = volume.spec;
    return csi === undefined ? undefined : { driver: csi.driver, volume: csi.volumeHandle };
  }
  const found = objects.storageClasses.get(undefined, classNameOf(claim));
  if (found === undefined) return undefined;
  // A volume that does not exist yet counts under the name of its claim.
  const { namespace, name } = claim.metadata;
  return { driver: found.provisioner, volume: `unprovisioned-${namespace}/${name}` };
}
