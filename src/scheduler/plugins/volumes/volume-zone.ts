/** Keeps pods on nodes in the zone and region that the labels of their bound volumes name. */
import { isDeepStrictEqual } from "node:util";
import type { PersistentVolume } from "#api/generated/core.v1.ts";
import {
  definePlugin,
  FITS,
  type Handle,
  type PluginFactory,
  type Rejected,
  SKIP,
  unresolvable,
} from "#scheduler/plugin.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { classNameOf, usesClaim } from "./pod-claims.ts";

const OTHER_ZONE = unresolvable("node(s) had no available volume zone");

const ZONE = "topology.kubernetes.io/zone";
const REGION = "topology.kubernetes.io/region";
const OLD_ZONE = "failure-domain.beta.kubernetes.io/zone";
const OLD_REGION = "failure-domain.beta.kubernetes.io/region";
/** The label that a node may have in place of an old one. */
const NEW_NAMES: Readonly<Record<string, string>> = { [OLD_ZONE]: ZONE, [OLD_REGION]: REGION };

interface Topology {
  readonly label: string;
  readonly values: ReadonlySet<string>;
}

export const volumeZone: PluginFactory = {
  name: "VolumeZone",
  create: (_args, handle) =>
    definePlugin<readonly Topology[], undefined>({
      name: "VolumeZone",
      preFilter: (pod) => {
        const topologies = topologiesOf(pod, handle);
        if ("fits" in topologies) return topologies;
        return topologies.length === 0 ? SKIP : { skip: false, state: topologies };
      },
      filter: (topologies, _pod, { labels }) => {
        const hasAny = [ZONE, REGION, OLD_ZONE, OLD_REGION].some(
          (label) => labels[label] !== undefined,
        );
        if (!hasAny) return FITS; // a cluster without zones
        for (const { label, values } of topologies) {
          const value = labels[label] ?? labels[NEW_NAMES[label] ?? ""];
          if (value === undefined || !values.has(value)) return OTHER_ZONE;
        }
        return FITS;
      },
      wakeOn: [
        {
          event: "storage-class-added",
          wakes: (_pod, { volumeBindingMode }) => volumeBindingMode === "WaitForFirstConsumer",
        },
        { event: "node-added" },
        { event: "node-labels-changed" },
        {
          event: "claim-added",
          wakes: ({ pod }, { metadata }) => usesClaim(pod, metadata.namespace, metadata.name),
        },
        {
          event: "claim-changed",
          wakes: ({ pod }, { metadata }) => usesClaim(pod, metadata.namespace, metadata.name),
        },
        { event: "volume-added" },
        {
          event: "volume-changed",
          wakes: (_pod, next, old) =>
            old === undefined || !isDeepStrictEqual(labelsOf(next), labelsOf(old)),
        },
      ],
    }),
};

function topologiesOf(
  { pod, namespace }: PodInfo,
  { objects }: Handle,
): readonly Topology[] | Rejected {
  const topologies: Topology[] = [];
  for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
    if (persistentVolumeClaim === undefined) continue;
    const { claimName } = persistentVolumeClaim;
    if (claimName === "") return unresolvable("PersistentVolumeClaim had no name");
    const claim = objects.claims.get(namespace, claimName);
    if (claim === undefined) return unresolvable(`persistentvolumeclaim "${claimName}" not found`);
    const volumeName = claim.spec.volumeName ?? "";
    if (volumeName === "") {
      const className = classNameOf(claim);
      if (className === "") {
        return unresolvable("PersistentVolumeClaim had no pv name and storageClass name");
      }
      const found = objects.storageClasses.get(undefined, className);
      if (found === undefined) {
        return unresolvable(`storageclass.storage.k8s.io "${className}" not found`);
      }
      if (found.volumeBindingMode === undefined) {
        return unresolvable(`VolumeBindingMode not set for StorageClass "${className}"`);
      }
      if (found.volumeBindingMode === "WaitForFirstConsumer") continue;
      return unresolvable("PersistentVolume had no name");
    }
    const volume = objects.volumes.get(undefined, volumeName);
    if (volume === undefined) return unresolvable(`persistentvolume "${volumeName}" not found`);
    topologies.push(...labelsOf(volume));
  }
  return topologies;
}

/** Several zones are joined by `__`; a label with an empty one among them does not count. */
function labelsOf({ metadata }: PersistentVolume): Topology[] {
  return [ZONE, REGION, OLD_ZONE, OLD_REGION].flatMap((label) => {
    const zones = metadata.labels?.[label]?.split("__").map((zone) => zone.trim());
    if (zones === undefined || zones.includes("")) return [];
    return [{ label, values: new Set(zones) }];
  });
}
