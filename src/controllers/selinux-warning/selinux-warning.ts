/**
 * Warns of pods that use the same volume with different SELinux labels: on one node only one of them
 * could. It changes nothing, and runs only where it is asked for.
 */

import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Volume,
} from "#api/generated/core.v1.ts";
import type { CSIDriver } from "#api/generated/storage.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { csiDriverKind } from "#api/kinds/storage/v1/csi-driver.ts";
import {
  type Caches,
  type Change,
  defineController,
  type EventNote,
  type IndexSpec,
  idle,
  type Key,
  type Measure,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { isFinished } from "../shared/pods.ts";
import { claimId, ephemeralClaimName, isOwnClaim, podsByClaim } from "../volume/pod-claims.ts";
import {
  type Conflict,
  conflictsOf,
  isMounted,
  labelsOf,
  propertyOf,
  type Use,
  useOf,
  volumeIdOf,
} from "./uses.ts";

export interface WarningState {
  /** The volumes of the pod, each with the labels that it is mounted with. */
  readonly uses: readonly Use[];
  /** Uses of older pods: the younger of two pods reports the conflict for both. */
  readonly others: readonly Use[];
  /** Volumes that the pod's own containers do not agree on. */
  readonly torn: readonly string[];
  readonly pod: Pod;
  /** Events that were recorded before. */
  readonly recorded: RecordedEvents;
}

/** Each as pod uid and message. */
type RecordedEvents = readonly string[];

const volumesById: IndexSpec<PersistentVolume> = {
  kind: persistentVolumeKind,
  name: "mountedStorage",
  values: ({ spec }) => {
    const id = volumeIdOf(spec, () => true);
    return id === undefined ? [] : [id];
  },
};

const podsByStorage: IndexSpec<Pod> = {
  kind: podKind,
  name: "mountedStorage",
  values: ({ spec }) => (spec.volumes ?? []).flatMap((volume) => inlineId(volume) ?? []),
};

export const selinuxWarning = defineController<WarningState | undefined, RecordedEvents>({
  name: "selinux-warning-controller",
  rule: "pods that share a volume with other SELinux labels get a warning",
  component: "selinux_warning",
  feeds: [
    { kind: podKind, keys: ownKey, keysOfChange: keysOfPodChange },
    { kind: persistentVolumeClaimKind, keys: keysOfClaim },
    { kind: persistentVolumeKind, keys: keysOfVolume },
    { kind: csiDriverKind, keys: keysOfDriver },
  ],
  indexes: [podsByClaim, podsByStorage, volumesById],
  observe: (caches, { namespace, name }, _reader, recorded = []) => {
    const pod = caches(podKind).get(namespace, name);
    if (pod === undefined || isFinished(pod)) return undefined;
    const { uses, torn } = usesOf(pod, caches);
    const others = uses.flatMap(({ volumeId }) =>
      podsOn(volumeId, caches)
        .filter((other) => isOlder(other, pod) && !isFinished(other))
        .flatMap((other) => usesOf(other, caches).uses)
        .filter((use) => use.volumeId === volumeId),
    );
    return { pod, uses, others, torn, recorded };
  },
  decide: (state) => (state === undefined ? idle : decide(state)),
  measure: measureConflicts(),
});

function decide({ pod, uses, others, torn, recorded }: WarningState): Outcome<RecordedEvents> {
  const conflicts = uses.flatMap((use) =>
    others.filter((o) => o.volumeId === use.volumeId).flatMap((o) => conflictsOf(use, o)),
  );
  const notes = [...conflicts.map(noteOf), ...torn.map((name) => tornNote(pod, name))];
  const ids = notes.map(({ about, message }) => `${(about as Pod).metadata.uid} ${message}`);
  return { events: notes.filter((_, i) => !recorded.includes(ids[i]!)), remember: ids };
}

/** Kept to what metrics ask for: every conflict, from both sides. */
function measureConflicts(): Measure<WarningState | undefined> {
  return (metrics, caches) => {
    const labels = ["property", "pod1_namespace", "pod1_name", "pod1_value"];
    metrics.gaugesOf(
      {
        name: "selinux_warning_controller_selinux_volume_conflict",
        help: "Two pods that use the same volume in ways that exclude each other.",
        labels: [...labels, "pod2_namespace", "pod2_name", "pod2_value"],
      },
      () => allConflicts(caches).map((conflict) => ({ labels: valuesOf(conflict), value: 1 })),
    );
    return () => undefined;
  };
}

function allConflicts(caches: Caches): readonly Conflict[] {
  const byVolume = new Map<string, Use[]>();
  for (const pod of caches(podKind).list()) {
    if (isFinished(pod)) continue;
    for (const use of usesOf(pod, caches).uses) {
      const known = byVolume.get(use.volumeId);
      if (known === undefined) byVolume.set(use.volumeId, [use]);
      else known.push(use);
    }
  }
  return [...byVolume.values()].flatMap((uses) =>
    uses.flatMap((use, i) => uses.slice(i + 1).flatMap((other) => conflictsOf(use, other))),
  );
}

function valuesOf({ property, of, with: other }: Conflict): readonly string[] {
  const side = (use: Use): string[] => {
    const { namespace = "", name = "" } = use.pod.metadata;
    return [namespace, name, propertyOf(use, property)];
  };
  return [property, ...side(of), ...side(other)];
}

/** A pod of another namespace is not named in the Event. */
function noteOf({ property, of, with: other }: Conflict): EventNote {
  const [value, otherValue] = [propertyOf(of, property), propertyOf(other, property)];
  const { namespace, name } = other.pod.metadata;
  const what =
    namespace === of.pod.metadata.namespace
      ? `${property} "${value}" conflicts with pod ${name} that uses the same volume as this pod with ${property} "${otherValue}"`
      : `${property}"${value}" conflicts with another pod that uses the same volume as this pod with a different ${property}`;
  const end = "If both pods land on the same node, only one of them may access the volume.";
  return {
    about: of.pod,
    type: "Normal",
    reason: `${property}Conflict`,
    message: `${what}. ${end}`,
  };
}

function tornNote(pod: Pod, volumeName: string): EventNote {
  const message = `Volume "${volumeName}" is mounted twice with different SELinux labels inside this pod`;
  return { about: pod, type: "Warning", reason: "MultipleSELinuxLabels", message };
}

function usesOf(pod: Pod, caches: Caches): { uses: readonly Use[]; torn: readonly string[] } {
  const uses: Use[] = [];
  const torn: string[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    if (!isMounted(pod, volume.name)) continue;
    const source = persistentSource(pod, volume, caches);
    if (source === "not there") continue;
    const labels = labelsOf(pod, volume.name);
    if (labels.length > 1) {
      torn.push(volume.name);
      continue;
    }
    const canMount = (driver: string): boolean =>
      caches(csiDriverKind).get(undefined, driver)?.spec.seLinuxMount === true;
    const id = source === undefined ? inlineId(volume) : volumeIdOf(source.spec, canMount);
    if (id !== undefined) uses.push(useOf(pod, id, labels));
  }
  return { uses, torn };
}

/** Undefined for a volume that the pod describes itself. */
function persistentSource(
  pod: Pod,
  volume: Volume,
  caches: Caches,
): PersistentVolume | "not there" | undefined {
  const { persistentVolumeClaim, ephemeral, name } = volume;
  if (persistentVolumeClaim === undefined && ephemeral === undefined) return undefined;
  const claimName = persistentVolumeClaim?.claimName ?? ephemeralClaimName(pod, volume);
  const claim = caches(persistentVolumeClaimKind).get(pod.metadata.namespace, claimName);
  if (claim === undefined || !claim.spec.volumeName) return "not there";
  if (ephemeral !== undefined && !isOwnClaim(pod, claim)) return "not there";
  const found = caches(persistentVolumeKind).get(undefined, claim.spec.volumeName);
  const isBound = found?.spec.claimRef?.uid === claim.metadata.uid;
  return found === undefined || !isBound || name === "" ? "not there" : found;
}

function inlineId({ iscsi, fc }: Volume): string | undefined {
  return volumeIdOf(
    { ...(iscsi === undefined ? {} : { iscsi }), ...(fc === undefined ? {} : { fc }) },
    () => false,
  );
}

/** All that may use the same storage, through claims or by themselves. */
function podsOn(volumeId: string, caches: Caches): readonly Pod[] {
  const through = [...caches(persistentVolumeKind).byIndex(volumesById.name, volumeId)].flatMap(
    (volume) => podsWith(volume, caches),
  );
  return [...through, ...caches(podKind).byIndex(podsByStorage.name, volumeId)];
}

function podsWith({ spec: { claimRef } }: PersistentVolume, caches: Caches): readonly Pod[] {
  if (claimRef?.name === undefined) return [];
  const id = claimId(claimRef.namespace, claimRef.name);
  return [...caches(podKind).byIndex(podsByClaim.name, id)];
}

function isOlder(a: Pod, b: Pod): boolean {
  const [x, y] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  return x === y ? idOf(a) < idOf(b) : x < y;
}

function idOf({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}/${name}`;
}

/** What matters of a pod is fixed when it is made, until it ends. */
function keysOfPodChange({ next, old }: Change<Pod>): readonly Key[] {
  const pod = next ?? old;
  if (pod === undefined) return [];
  const isSame = next !== undefined && old !== undefined && isFinished(next) === isFinished(old);
  return isSame ? [] : ownKey(pod);
}

function keysOfClaim({ metadata }: PersistentVolumeClaim, caches: Caches): readonly Key[] {
  const id = claimId(metadata.namespace, metadata.name ?? "");
  return [...caches(podKind).byIndex(podsByClaim.name, id)].flatMap(ownKey);
}

function keysOfVolume(volume: PersistentVolume, caches: Caches): readonly Key[] {
  return podsWith(volume, caches).flatMap(ownKey);
}

function keysOfDriver({ metadata }: CSIDriver, caches: Caches): readonly Key[] {
  return [...caches(persistentVolumeKind).list()]
    .filter(({ spec }) => spec.csi?.driver === metadata.name)
    .flatMap((volume) => keysOfVolume(volume, caches));
}
