/**
 * Binds claims to volumes, makes volumes where the built-in provisioner can, and reclaims those whose
 * claims are gone. Claims and volumes are keys of one queue: each change of one side concerns the other.
 */

import type { PersistentVolume, PersistentVolumeClaim, Pod } from "#api/generated/core.v1.ts";
import type { StorageClass } from "#api/generated/storage.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import {
  type Caches,
  type Controller,
  defineController,
  type IndexSpec,
  idle,
  type Key,
  type Reader,
  readOnly,
} from "#runtime/controller.ts";
import { measureVolumes } from "../metrics/volumes.ts";
import { isFinished } from "../shared/pods.ts";
import { claimId, claimNamesOf, podsByClaim } from "../volume/pod-claims.ts";
import { classOf, pointsAt, SELECTED_NODE } from "./binding.ts";
import { type ClaimState, decideClaim } from "./claim.ts";
import type { LocalVolumes } from "./local-path.ts";
import { observeRecycler } from "./recycler-events.ts";
import { DEFAULT_RECYCLERS, type Recyclers, recycledBy } from "./recycler-pod.ts";
import { decideVolume, type ReportedEvents, type VolumeState } from "./volume.ts";

const DEFAULT_CLASS_ANNOTATIONS = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

const RECHECK_MS = 15_000;

type State =
  | { readonly of: "claim"; readonly state: ClaimState }
  | { readonly of: "volume"; readonly state: VolumeState }
  | undefined;

const volumesByClaim: IndexSpec<PersistentVolume> = {
  kind: persistentVolumeKind,
  name: "claimRef",
  values: ({ spec: { claimRef } }) =>
    claimRef?.name === undefined ? [] : [claimId(claimRef.namespace, claimRef.name)],
};

const freeVolumesByClass: IndexSpec<PersistentVolume> = {
  kind: persistentVolumeKind,
  name: "freeByClass",
  values: (volume) => (volume.spec.claimRef === undefined ? [classOf(volume)] : []),
};

const claimsByVolume: IndexSpec<PersistentVolumeClaim> = {
  kind: persistentVolumeClaimKind,
  name: "volumeName",
  values: ({ spec }) => (spec.volumeName ? [spec.volumeName] : []),
};

const unboundClaimsByClass: IndexSpec<PersistentVolumeClaim> = {
  kind: persistentVolumeClaimKind,
  name: "unboundByClass",
  values: (claim) => (claim.spec.volumeName ? [] : [classOf(claim)]),
};

export interface BinderOptions {
  readonly localVolumes?: LocalVolumes;
  /** Interval at which pending claims are rechecked and their Event is repeated. */
  readonly claimRecheckMs?: number;
  readonly recyclers?: Recyclers;
}

export function persistentVolumeBinder(
  options: BinderOptions = {},
): Controller<State, ReportedEvents> {
  const { localVolumes, claimRecheckMs = RECHECK_MS, recyclers = DEFAULT_RECYCLERS } = options;
  return defineController<State, ReportedEvents>({
    name: "persistentvolume-binder-controller",
    rule: "a claim is bound to the smallest volume that fits, or one is provisioned; a released volume is treated by its reclaim policy",
    component: "persistentvolume-controller",
    feeds: [
      { kind: persistentVolumeClaimKind, keys: keysOfClaim },
      { kind: persistentVolumeKind, keys: keysOfVolume },
      { kind: storageClassKind, keys: keysOfClass },
      {
        kind: podKind,
        keys: keysOfPod,
      },
      readOnly(nodeKind),
    ],
    indexes: [
      volumesByClaim,
      freeVolumesByClass,
      claimsByVolume,
      unboundClaimsByClass,
      podsByClaim,
    ],
    observe: async (caches, key, reader, reported) => {
      if (key.resource === "claim") return observeClaim(caches, key, localVolumes);
      const state = await observeVolume(caches, key, reader, localVolumes !== undefined);
      if (state === undefined || !isToBeEmptied(state)) return state && { of: "volume", state };
      const recycler = await observeRecycler(state.volume, recyclers, caches, reader, reported);
      return { of: "volume", state: { ...state, recycler } };
    },
    decide(observed) {
      if (observed === undefined) return idle;
      if (observed.of === "volume") return decideVolume(observed.state);
      const outcome = decideClaim(observed.state);
      return isWaiting(observed.state) ? { ...outcome, recheckInMs: claimRecheckMs } : outcome;
    },
    measure: measureVolumes,
  });
}

/** For a volume, which no change of its own need announce. */
function isWaiting({ claim: { metadata, status } }: ClaimState): boolean {
  return status.phase !== "Bound" && status.phase !== "Lost" && !metadata.deletionTimestamp;
}

function claimKey(namespace: string | undefined, name: string): Key {
  return { resource: "claim", namespace, name };
}

function volumeKey(name: string | undefined): Key {
  return { resource: "volume", name: name ?? "" };
}

function keysOfClaim(claim: PersistentVolumeClaim, caches: Caches): readonly Key[] {
  const { namespace, name = "" } = claim.metadata;
  const id = claimId(namespace, name);
  const pointing = [...caches(persistentVolumeKind).byIndex(volumesByClaim.name, id)];
  return [
    claimKey(namespace, name),
    ...pointing.map(({ metadata }) => volumeKey(metadata.name)),
    ...(claim.spec.volumeName ? [volumeKey(claim.spec.volumeName)] : []),
  ];
}

function keysOfVolume(volume: PersistentVolume, caches: Caches): readonly Key[] {
  const { claimRef } = volume.spec;
  const claims = caches(persistentVolumeClaimKind);
  const naming = claims.byIndex(claimsByVolume.name, volume.metadata.name ?? "");
  const waiting =
    claimRef === undefined ? claims.byIndex(unboundClaimsByClass.name, classOf(volume)) : [];
  return [
    volumeKey(volume.metadata.name),
    ...(claimRef?.name === undefined ? [] : [claimKey(claimRef.namespace, claimRef.name)]),
    ...[...naming, ...waiting].map(({ metadata }) =>
      claimKey(metadata.namespace, metadata.name ?? ""),
    ),
  ];
}

/** Claims, the volumes of those that are gone, and the volume that the pod empties. */
function keysOfPod(pod: Pod, caches: Caches): readonly Key[] {
  const { namespace } = pod.metadata;
  const emptied = recycledBy(pod);
  const volumes = caches(persistentVolumeKind);
  return [
    ...claimNamesOf(pod).flatMap((name) => [
      claimKey(namespace, name),
      ...[...volumes.byIndex(volumesByClaim.name, claimId(namespace, name))].map(({ metadata }) =>
        volumeKey(metadata.name),
      ),
    ]),
    ...(emptied === undefined ? [] : [volumeKey(emptied)]),
  ];
}

/** Claims that wait for the class, and those that wait for any class to become the default. */
function keysOfClass(storageClass: StorageClass, caches: Caches): readonly Key[] {
  const claims = caches(persistentVolumeClaimKind);
  const { name = "" } = storageClass.metadata;
  const classes = isDefault(storageClass) ? [name, ""] : [name];
  return classes
    .flatMap((className) => [...claims.byIndex(unboundClaimsByClass.name, className)])
    .map(({ metadata }) => claimKey(metadata.namespace, metadata.name ?? ""));
}

function observeClaim(
  caches: Caches,
  { namespace, name }: Key,
  localVolumes: LocalVolumes | undefined,
): State {
  const claim = caches(persistentVolumeClaimKind).get(namespace, name);
  if (claim === undefined) return undefined;
  const id = claimId(namespace, name);
  const volumes = caches(persistentVolumeKind);
  const nodeName = claim.metadata.annotations?.[SELECTED_NODE];
  const state: ClaimState = {
    claim,
    candidates: [
      ...[...volumes.byIndex(volumesByClaim.name, id)].filter((volume) => pointsAt(volume, claim)),
      ...volumes.byIndex(freeVolumesByClass.name, classOf(claim)),
    ],
    volume: claim.spec.volumeName ? volumes.get(undefined, claim.spec.volumeName) : undefined,
    storageClass: caches(storageClassKind).get(undefined, classOf(claim)),
    defaultClass: defaultClassOf(caches(storageClassKind).list()),
    node: nodeName === undefined ? undefined : caches(nodeKind).get(undefined, nodeName),
    waitingPods: [...caches(podKind).byIndex(podsByClaim.name, id)]
      .filter((pod) => !isFinished(pod) && !pod.spec.nodeName)
      .map(({ metadata }) => metadata.name ?? ""),
    localVolumes,
  };
  return { of: "claim", state };
}

async function observeVolume(
  caches: Caches,
  { name }: Key,
  reader: Reader,
  provisions: boolean,
): Promise<VolumeState | undefined> {
  const volume = caches(persistentVolumeKind).get(undefined, name);
  if (volume === undefined) return undefined;
  const claim = await claimOf(volume, caches, reader);
  const users = claim === undefined ? usersOf(volume, caches) : [];
  return { volume, claim, provisions, users };
}

function isToBeEmptied({ volume: { spec }, claim }: VolumeState): boolean {
  const { claimRef, persistentVolumeReclaimPolicy } = spec;
  return persistentVolumeReclaimPolicy === "Recycle" && !!claimRef?.uid && claim === undefined;
}

/** Another claim of the same name has another volume: then its pods say nothing of this one. */
function usersOf({ spec: { claimRef } }: PersistentVolume, caches: Caches): readonly string[] {
  const { namespace, name = "" } = claimRef ?? {};
  if (caches(persistentVolumeClaimKind).get(namespace, name) !== undefined) return [];
  return [...caches(podKind).byIndex(podsByClaim.name, claimId(namespace, name))]
    .filter((pod) => !isFinished(pod))
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
}

/** A claim that the cache does not know is asked for: to release a volume in error loses data. */
async function claimOf(
  { spec: { claimRef }, status }: PersistentVolume,
  caches: Caches,
  reader: Reader,
): Promise<PersistentVolumeClaim | undefined> {
  if (!claimRef?.uid || claimRef.name === undefined) return undefined;
  const { namespace, name, uid } = claimRef;
  const known = caches(persistentVolumeClaimKind).get(namespace, name);
  if (known?.metadata.uid === uid) return known;
  if (status.phase === "Released" || status.phase === "Failed") return undefined;
  const asked = await reader.get(persistentVolumeClaimKind, { namespace, name });
  if (asked.ok) return asked.value.metadata.uid === uid ? asked.value : undefined;
  if (asked.status.reason === "NotFound") return undefined;
  throw new Error(`claim ${namespace}/${name}: ${asked.status.message ?? ""}`);
}

/** The newest of several. */
function defaultClassOf(classes: Iterable<StorageClass>): string | undefined {
  const since = ({ metadata }: StorageClass): string => metadata.creationTimestamp ?? "";
  const byAge = (a: StorageClass, b: StorageClass): number => {
    if (since(a) !== since(b)) return since(a) > since(b) ? -1 : 1;
    return (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1;
  };
  return [...classes].filter(isDefault).sort(byAge)[0]?.metadata.name;
}

function isDefault({ metadata }: StorageClass): boolean {
  return DEFAULT_CLASS_ANNOTATIONS.some((name) => metadata.annotations?.[name] === "true");
}
