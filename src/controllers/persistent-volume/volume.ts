/** What happens to a volume: its phase, and what becomes of it when its claim is gone. */

import type { PersistentVolume, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { because, type EventNote, idle, type Outcome } from "#runtime/controller.ts";
import { remove, update } from "#runtime/writes.ts";
import {
  BOUND_BY_CONTROLLER,
  hasAnnotation,
  PROVISIONED_BY,
  phaseWrites,
  sameMode,
  withoutAnnotation,
} from "./binding.ts";
import {
  deleterOf,
  withDeletionFinalizer,
  withMigratedTo,
  withoutDeletionFinalizer,
} from "./in-tree.ts";
import { LOCAL_PATH_PROVISIONER } from "./local-path.ts";
import { NO_RECYCLER, type Recycler, recycle, volumeEvents } from "./recycle.ts";

/** Interval at which Events of the recycler pod are read: they come without a change of the pod. */
const EVENTS_RECHECK_MS = 2_000;

export interface VolumeState {
  readonly volume: PersistentVolume;
  /** The very claim that the volume points at, as far as it exists. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** Volumes of the built-in provisioner are deleted here. */
  readonly provisions: boolean;
  /** Of a volume that is to be emptied. */
  readonly recycler?: Recycler | undefined;
  /** Pods that still use the claim that is gone. */
  readonly users?: readonly string[];
}

/** The uids of Events of the recycler pod that were copied to the volume. */
export type ReportedEvents = readonly string[];

export function decideVolume(state: VolumeState): Outcome<ReportedEvents> {
  const { volume, claim } = state;
  const migrated = withMigratedTo(volume);
  const guarded = withDeletionFinalizer(migrated ?? volume) ?? migrated;
  if (guarded !== undefined) {
    const writes = [update(persistentVolumeKind, guarded)];
    return { writes, because: "the volume is migrated or protected by a finalizer first" };
  }
  const { claimRef } = volume.spec;
  if (!claimRef?.uid) {
    return because("no claim is bound to it", { writes: phaseWrites(volume, "Available") });
  }
  if (claim === undefined) return release(state);
  if (!claim.spec.volumeName) return sameMode(volume, claim) ? idle : mismatch(volume, claim);
  if (claim.spec.volumeName === volume.metadata.name) {
    return because("its claim names it", { writes: phaseWrites(volume, "Bound") });
  }
  // The claim went with another volume: one made just for it has no more use.
  const isSpare =
    hasAnnotation(volume, PROVISIONED_BY) && volume.spec.persistentVolumeReclaimPolicy === "Delete";
  return isSpare ? release(state) : unbind(volume);
}

/** First released, which is seen here again, then reclaimed. */
function release(state: VolumeState): Outcome<ReportedEvents> {
  const { volume } = state;
  const { phase } = volume.status;
  const again = volume.spec.persistentVolumeReclaimPolicy === "Recycle";
  if (phase === "Failed") return again ? recycled(state) : idle;
  return phase === "Released" ? reclaim(state) : { writes: phaseWrites(volume, "Released") };
}

function reclaim(state: VolumeState): Outcome<ReportedEvents> {
  const { volume, provisions } = state;
  switch (volume.spec.persistentVolumeReclaimPolicy) {
    case "Retain":
      return idle;
    case "Delete":
      return discard(volume, provisions);
    case "Recycle":
      return recycled(state);
    default: {
      const message = "Volume has unrecognized PersistentVolumeReclaimPolicy";
      return fail(volume, "VolumeUnknownReclaimPolicy", message);
    }
  }
}

function discard(volume: PersistentVolume, provisions: boolean): Outcome {
  const isOurs =
    volume.metadata.annotations?.[PROVISIONED_BY] === LOCAL_PATH_PROVISIONER && provisions;
  const deleter = isOurs ? "controller" : deleterOf(volume);
  if (deleter === "driver") return idle;
  if (deleter !== "controller") return fail(volume, "VolumeFailedDelete", deleter.error);
  const free = withoutDeletionFinalizer(volume);
  return {
    writes: [
      ...(free === undefined ? [] : [update(persistentVolumeKind, free)]),
      ...(volume.metadata.deletionTimestamp === undefined
        ? [remove(persistentVolumeKind, volume)]
        : []),
    ],
  };
}

function recycled({
  volume,
  recycler = NO_RECYCLER,
  users = [],
}: VolumeState): Outcome<ReportedEvents> {
  const note = (reason: string, message: string): EventNote => {
    return { about: volume, type: "Normal", reason, message };
  };
  if (users.length > 0) {
    // Whatever the pods do next brings it here again.
    const events = [note("VolumeFailedRecycle", `Volume is used by pods: ${users.join(",")}`)];
    return { events, because: "pods still use the volume" };
  }
  const copied = volumeEvents(volume, recycler.newEvents);
  const recycling = recycle(volume, recycler);
  const { writes } = recycling;
  switch (recycling.step) {
    case "waiting": {
      const again = recycler.pod === undefined ? {} : { recheckInMs: EVENTS_RECHECK_MS };
      const rule = "the recycler pod empties the volume";
      return because(rule, { events: copied, writes, remember: recycler.reported, ...again });
    }
    case "failed": {
      if (volume.status.phase === "Failed")
        return because(RECYCLING_FAILED, { events: copied, writes, remember: recycler.reported });
      const failed = fail(volume, "VolumeFailedRecycle", recycling.why);
      return {
        events: [...copied, ...(failed.events ?? [])],
        writes: [...writes, ...(failed.writes ?? [])],
        remember: recycler.reported,
        because: RECYCLING_FAILED,
      };
    }
    case "emptied": {
      const freed = unbind(volume);
      return {
        events: [...copied, note("VolumeRecycled", "Volume recycled")],
        writes: [...writes, ...(freed.writes ?? [])],
        remember: recycler.reported,
        because: "the volume was emptied",
      };
    }
  }
}

function unbind(volume: PersistentVolume): Outcome {
  const { claimRef, ...spec } = volume.spec;
  if (!hasAnnotation(volume, BOUND_BY_CONTROLLER)) {
    // The user set the claimRef by name, so the next claim of that name may bind the volume.
    const { uid: _, ...byName } = claimRef ?? {};
    const next = { ...volume, spec: { ...spec, claimRef: byName } };
    return { writes: [update(persistentVolumeKind, next)], because: UNBOUND };
  }
  const next = { ...withoutAnnotation(volume, BOUND_BY_CONTROLLER), spec };
  return { writes: [update(persistentVolumeKind, next)], because: UNBOUND };
}

function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): Outcome {
  const note = (about: EventNote["about"], message: string): EventNote => {
    return { about, type: "Warning", reason: "VolumeMismatch", message };
  };
  const asked = `requested PersistentVolumeClaim "${claim.metadata.name}"`;
  const why = "due to incompatible volumeMode.";
  const given = `PersistentVolume "${volume.metadata.name}"`;
  return {
    events: [
      note(volume, `Cannot bind PersistentVolume to ${asked} ${why}`),
      note(claim, `Cannot bind ${given} to requested PersistentVolumeClaim ${why}`),
    ],
    because: "claim and volume have different volume modes",
  };
}

function fail(volume: PersistentVolume, reason: string, message: string): Outcome {
  const event: EventNote = { about: volume, type: "Warning", reason, message };
  return { events: [event], writes: phaseWrites(volume, "Failed", message), because: reason };
}

const RECYCLING_FAILED = "the volume could not be emptied";
const UNBOUND = "the volume is free again";
