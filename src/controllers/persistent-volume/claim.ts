/** What happens to a claim: matched, provisioned for, or kept waiting; lost when its volume is gone. */

import type { Node, PersistentVolume, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import type { StorageClass } from "#api/generated/storage.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { because, type EventNote, type Outcome } from "#runtime/controller.ts";
import { create, noted, update, type Write } from "#runtime/writes.ts";
import {
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  bestVolume,
  bindWrites,
  claimStatusWrites,
  classOf,
  hasAnnotation,
  misfit,
  pointsAt,
  SELECTED_NODE,
  withAnnotations,
} from "./binding.ts";
import {
  BETA_STORAGE_PROVISIONER,
  provisionerOf,
  STORAGE_PROVISIONER,
  withMigratedTo,
} from "./in-tree.ts";
import {
  LOCAL_PATH_PROVISIONER,
  type LocalVolumes,
  provisionLocally,
  volumeNameFor,
} from "./local-path.ts";

export interface ClaimState {
  readonly claim: PersistentVolumeClaim;
  /** Those that the claim could be bound to: of its class, or pointing at it. */
  readonly candidates: readonly PersistentVolume[];
  /** The volume that the claim names. */
  readonly volume: PersistentVolume | undefined;
  readonly storageClass: StorageClass | undefined;
  readonly defaultClass: string | undefined;
  /** The node that the scheduler picked. */
  readonly node: Node | undefined;
  /** Pods that use the claim and have no node yet. */
  readonly waitingPods: readonly string[];
  readonly localVolumes: LocalVolumes | undefined;
}

export function decideClaim(state: ClaimState): Outcome {
  const { claim } = state;
  const migrated = withMigratedTo(claim);
  if (migrated !== undefined) {
    const writes = [update(persistentVolumeClaimKind, migrated)];
    return { writes, because: "the in-tree plugin of the claim is migrated to a CSI driver" };
  }
  if (hasAnnotation(claim, BIND_COMPLETED)) return decideBound(state);
  return claim.spec.volumeName ? decideAsked(state) : decideUnbound(state);
}

function decideBound({ claim, volume }: ClaimState): Outcome {
  if (!claim.spec.volumeName) {
    const text = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!";
    return lost(claim, "ClaimLost", text);
  }
  if (volume === undefined) {
    const text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
    return lost(claim, "ClaimLost", text);
  }
  const { claimRef } = volume.spec;
  if (claimRef === undefined || claimRef.uid === claim.metadata.uid) {
    return bind(volume, claim, "the claim is bound to the volume");
  }
  const text = "Two claims are bound to the same volume, this one is bound incorrectly";
  return lost(claim, "ClaimMisbound", text);
}

/** The claim names a volume but is not bound to it yet. */
function decideAsked({ claim, volume }: ClaimState): Outcome {
  if (volume === undefined) {
    const writes = claimStatusWrites(claim, "Pending");
    return because("the volume that the claim names does not exist", { writes });
  }
  const name = volume.metadata.name;
  if (volume.spec.claimRef === undefined) {
    const fault = misfit(volume, claim);
    if (fault === undefined)
      return bind(volume, claim, "the claim names the volume, which is free");
    const message = `Cannot bind to requested volume "${name}": ${fault}`;
    return pending(claim, "Warning", "VolumeMismatch", message);
  }
  if (pointsAt(volume, claim)) return bind(volume, claim, "claim and volume name each other");
  const message = `volume "${name}" already bound to a different claim.`;
  const events = [note(claim, "Warning", "FailedBinding", message)];
  // The controller bound it itself: the other side may just be older than what is cached.
  const rule = "the volume is bound to another claim";
  if (hasAnnotation(claim, BOUND_BY_CONTROLLER)) return { events, because: rule };
  return { events, writes: claimStatusWrites(claim, "Pending"), because: rule };
}

function decideUnbound(state: ClaimState): Outcome {
  const { claim, storageClass, defaultClass } = state;
  const delayed = storageClass?.volumeBindingMode === "WaitForFirstConsumer";
  const volume = bestVolume(claim, state.candidates, delayed);
  if (volume !== undefined) return bind(volume, claim, "the smallest volume that fits is taken");
  if (classOf(claim) === "" && claim.spec.storageClassName === undefined && defaultClass) {
    const spec = { ...claim.spec, storageClassName: defaultClass };
    const writes = [update(persistentVolumeClaimKind, { ...claim, spec })];
    return { writes, because: "a claim without a class gets the default StorageClass" };
  }
  if (delayed && !hasAnnotation(claim, SELECTED_NODE)) return waitForConsumer(state);
  if (classOf(claim) !== "") return provision(state);
  const message = "no persistent volumes available for this claim and no storage class is set";
  return pending(claim, "Normal", "FailedBinding", message);
}

function waitForConsumer({ claim, waitingPods }: ClaimState): Outcome {
  if (waitingPods.length === 0) {
    const message = "waiting for first consumer to be created before binding";
    return pending(claim, "Normal", "WaitForFirstConsumer", message);
  }
  const pods = `pod${waitingPods.length > 1 ? "s" : ""} ${waitingPods.join(",")}`;
  return pending(claim, "Normal", "WaitForPodScheduled", `waiting for ${pods} to be scheduled`);
}

function provision(state: ClaimState): Outcome {
  const { claim, storageClass, localVolumes } = state;
  if (storageClass === undefined) {
    return failed(claim, `storageclass.storage.k8s.io "${classOf(claim)}" not found`);
  }
  const { provisioner } = storageClass;
  if (provisioner === LOCAL_PATH_PROVISIONER && localVolumes !== undefined) {
    return provisionHere(state, storageClass, localVolumes);
  }
  const found = provisionerOf(provisioner);
  if ("error" in found) {
    const writes = found.isKnown ? nameProvisioner(claim, provisioner) : [];
    return { ...failed(claim, found.error), writes };
  }
  const message =
    `Waiting for a volume to be created either by the external provisioner '${found.external}' ` +
    "or manually by the system administrator. If volume creation is delayed, please verify that " +
    "the provisioner is running and correctly registered.";
  const event = note(claim, "Normal", "ExternalProvisioning", message);
  return {
    writes: nameProvisioner(claim, found.external),
    events: [event],
    because: "an external provisioner makes the volume",
  };
}

function provisionHere(
  { claim, node, candidates }: ClaimState,
  storageClass: StorageClass,
  localVolumes: LocalVolumes,
): Outcome {
  const name = volumeNameFor(claim);
  const exists = candidates.some(({ metadata }) => metadata.name === name);
  if (exists || claim.metadata.deletionTimestamp !== undefined) return {};
  const selected = claim.metadata.annotations?.[SELECTED_NODE];
  if (selected !== undefined && node === undefined) {
    return failed(claim, `Failed to get target node: node "${selected}" not found`);
  }
  const provisioned = provisionLocally(claim, storageClass, node, localVolumes);
  if (!provisioned.ok) {
    const className = storageClass.metadata.name;
    return failed(
      claim,
      `Failed to provision volume with StorageClass "${className}": ${provisioned.error}`,
    );
  }
  const { provisioner } = storageClass;
  const message = `Successfully provisioned volume ${name} using ${provisioner}`;
  const made = noted(create(persistentVolumeKind, provisioned.volume), {
    onDone: note(claim, "Normal", "ProvisioningSucceeded", message),
  });
  const rule = "no volume fits, and the StorageClass provisions local paths";
  return { writes: [...nameProvisioner(claim, provisioner), made], because: rule };
}

/** Sets the annotation that names the external provisioner. */
function nameProvisioner(claim: PersistentVolumeClaim, provisioner: string): readonly Write[] {
  if (claim.metadata.annotations?.[STORAGE_PROVISIONER] === provisioner) return [];
  const next = withAnnotations(claim, {
    [BETA_STORAGE_PROVISIONER]: provisioner,
    [STORAGE_PROVISIONER]: provisioner,
  });
  return [update(persistentVolumeClaimKind, next)];
}

function bind(volume: PersistentVolume, claim: PersistentVolumeClaim, rule: string): Outcome {
  return because(rule, { writes: bindWrites(volume, claim) });
}

function failed(claim: PersistentVolumeClaim, message: string): Outcome {
  const events = [note(claim, "Warning", "ProvisioningFailed", message)];
  return { events, because: "no volume fits, and none can be provisioned" };
}

function pending(
  claim: PersistentVolumeClaim,
  type: EventNote["type"],
  reason: string,
  message: string,
): Outcome {
  const events = [note(claim, type, reason, message)];
  return { events, writes: claimStatusWrites(claim, "Pending"), because: `it waits: ${reason}` };
}

function lost(claim: PersistentVolumeClaim, reason: string, message: string): Outcome {
  if (claim.status.phase === "Lost") return {};
  const events = [note(claim, "Warning", reason, message)];
  return { events, writes: claimStatusWrites(claim, "Lost"), because: `it is lost: ${reason}` };
}

function note(
  about: PersistentVolumeClaim,
  type: EventNote["type"],
  reason: string,
  message: string,
): EventNote {
  return { about, type, reason, message };
}
