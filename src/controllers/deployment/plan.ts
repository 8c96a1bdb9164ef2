/**
 * What a decision about a Deployment has gathered so far: the sets as they should be, conditions,
 * what to remove. `finish` turns it into writes: one for each set that changes and one for the status.
 */

import type {
  Deployment,
  DeploymentCondition,
  DeploymentStatus,
  ReplicaSet,
} from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  because,
  type EventNote,
  type Outcome,
  type RefusalOutcome,
  type RefusedWrite,
} from "#runtime/controller.ts";
import { create, noted, remove, update, updateStatus, type Write } from "#runtime/writes.ts";
import { findCondition, withCondition } from "../shared/conditions.ts";
import { controllerReference, isControlledBy } from "../shared/ownership.ts";
import { isFinished } from "../shared/pods.ts";
import {
  byRevision,
  newSetAnnotations,
  nextRevision,
  REVISION,
  sizeAnnotations,
} from "./revisions.ts";
import {
  allOf,
  byAge,
  currentSizeWanted,
  type Sets,
  type Sizes,
  sizeOf,
  uidOf,
} from "./rollout.ts";
import {
  countedStatus,
  deadlineCheckInMs,
  hasDeadline,
  progressing,
  rolloutStatus,
} from "./status.ts";
import { HASH_LABEL, isSameTemplate, templateHash } from "./template.ts";

const NAME_LENGTH_MAX = 253;
const HASH_LENGTH_MAX = 10; // 32 bits in digits

export interface DeploymentState {
  readonly deployment: Deployment;
  /** ReplicaSets that it controls, and those without a controller in its namespace. */
  readonly candidates: readonly ReplicaSet[];
  /** Pods of each of these sets, by the set's uid. */
  readonly pods: ReadonlyMap<string, readonly Pod[]>;
  /** ReplicaSets with a name of the form that its own have, with any controller. */
  readonly namesakes: ReadonlyMap<string, ReplicaSet>;
}

export class Plan {
  readonly deployment: Deployment;
  readonly #state: DeploymentState;
  readonly #nowMs: number;
  readonly #wanted = new Map<string, ReplicaSet>();
  readonly #removed: ReplicaSet[] = [];
  /** As they were observed. */
  readonly #before: Sets;
  #sets: Sets;
  #created: ReplicaSet | undefined;
  #conditions: readonly DeploymentCondition[];
  #revision: string | undefined;

  constructor(state: DeploymentState, sets: Sets, nowMs: number) {
    this.deployment = state.deployment;
    this.#state = state;
    this.#before = sets;
    this.#sets = sets;
    this.#nowMs = nowMs;
    this.#conditions = state.deployment.status.conditions ?? [];
    this.#revision = state.deployment.metadata.annotations?.[REVISION];
  }

  get sets(): Sets {
    return this.#sets;
  }

  /** While paused no progress is expected, and none must be missed on resuming. */
  notePause(): void {
    const { deployment } = this;
    if (!hasDeadline(deployment)) return;
    const now = findCondition(this.#conditions, "Progressing");
    if (now?.reason === "ProgressDeadlineExceeded") return;
    const wasPaused = now?.reason === "DeploymentPaused";
    if (deployment.spec.paused && !wasPaused) {
      this.#progress("Unknown", "DeploymentPaused", "Deployment is paused");
    } else if (!deployment.spec.paused && wasPaused) {
      this.#progress("Unknown", "DeploymentResumed", "Deployment is resumed");
    }
  }

  /** Brings annotations and minReadySeconds of the current set up to date. */
  refreshCurrent(): void {
    const { current, old } = this.#sets;
    if (current === undefined) return;
    const { deployment } = this;
    const annotations = newSetAnnotations(deployment, current, nextRevision(old));
    const { minReadySeconds: _, ...spec } = current.spec;
    const { minReadySeconds = 0 } = deployment.spec;
    this.#want({
      ...current,
      metadata: { ...current.metadata, annotations },
      spec: minReadySeconds === 0 ? spec : { ...spec, minReadySeconds },
    });
    this.#revision = annotations[REVISION];
    if (hasDeadline(deployment) && findCondition(this.#conditions, "Progressing") === undefined) {
      this.#progress(
        "True",
        "FoundNewReplicaSet",
        `Found new replica set "${current.metadata.name}"`,
      );
    }
  }

  /** Makes the set of the current template if there is none. */
  ensureCurrent(): void {
    if (this.#sets.current !== undefined) return;
    const { deployment } = this;
    const { old } = this.#sets;
    const size = currentSizeWanted(deployment, old, 0);
    const revision = nextRevision(old);
    this.#created = newSet(deployment, size, revision);
    this.#revision = String(revision);
    if (hasDeadline(deployment)) {
      this.#progress(
        "True",
        "NewReplicaSetCreated",
        `Created new replica set "${this.#created.metadata.name}"`,
      );
    }
  }

  resize(sizes: Sizes, annotate: "always" | "changed"): void {
    for (const set of allOf(this.#sets)) {
      const size = sizes.get(uidOf(set));
      if (size === undefined || (annotate === "changed" && size === sizeOf(set))) continue;
      const annotations = { ...set.metadata.annotations, ...sizeAnnotations(this.deployment) };
      this.#want({
        ...set,
        metadata: { ...set.metadata, annotations },
        spec: { ...set.spec, replicas: size },
      });
    }
  }

  /** Old sets beyond the history limit go, the oldest first, once they are empty and say so. */
  cleanUp(): void {
    const { revisionHistoryLimit } = this.deployment.spec;
    if (revisionHistoryLimit === undefined || revisionHistoryLimit === 2 ** 31 - 1) return;
    const cleanable = this.#sets.old.filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
    const surplus = cleanable.length - revisionHistoryLimit;
    if (surplus <= 0) return;
    const oldest = [...cleanable].sort((a, b) => byRevision(a, b) || byAge(a, b)).slice(0, surplus);
    for (const set of oldest) {
      const { metadata, status } = set;
      const settled = (metadata.generation ?? 0) <= (status.observedGeneration ?? 0);
      if (sizeOf(set) === 0 && (status.replicas ?? 0) === 0 && settled) this.#removed.push(set);
    }
  }

  oldPodsRun(): boolean {
    const { old } = this.#sets;
    if (old.some(({ status }) => (status.replicas ?? 0) > 0)) return true;
    const pods = old.flatMap((set) => this.#state.pods.get(uidOf(set)) ?? []);
    return pods.some((pod) => !isFinished(pod));
  }

  /** `rule`: why ReplicaSets change, if they do. */
  finish(form: "counted" | "rollout", rule: string): Outcome {
    const { deployment } = this;
    const status = this.#status(form);
    const recheckInMs =
      form === "rollout" ? deadlineCheckInMs(deployment, status, this.#nowMs) : undefined;
    const changes = [
      ...this.#setWrites(),
      ...this.#removed.map((set) => remove(replicaSetKind, set)),
    ];
    const fired = changes.length > 0 ? rule : "the status counts the pods of the ReplicaSets";
    return because(fired, {
      writes: [...changes, ...this.#statusWrite(status)],
      ...(recheckInMs === undefined ? {} : { recheckInMs }),
    });
  }

  /** What is done when the server refuses a write of `finish`. */
  refused({ write, status: refusal }: RefusedWrite): RefusalOutcome {
    if (write.op !== "create" || this.#created === undefined) return {};
    const status = this.#status("rollout"); // only a rollout creates a set
    return refusal.reason === "AlreadyExists"
      ? this.#resolveCollision(this.#created, status)
      : this.#reportFailure(this.#created, status, refusal.message ?? "");
  }

  #status(form: "counted" | "rollout"): DeploymentStatus {
    const statusFor = form === "counted" ? countedStatus : rolloutStatus;
    const { current = this.#created, old } = this.#sets;
    return statusFor(this.deployment, { current, old }, this.#conditions, this.#nowMs);
  }

  #setWrites(): readonly Write[] {
    const { deployment } = this;
    const created = this.#created;
    const updates = allOf(this.#before).flatMap((set) => {
      const wanted = this.#wanted.get(uidOf(set));
      if (wanted === undefined || semanticEqual(wanted, set)) return [];
      const write = update(replicaSetKind, wanted);
      const [from, to] = [sizeOf(set), sizeOf(wanted)];
      return [
        from === to ? write : noted(write, { onDone: scaledNote(deployment, set, from, to) }),
      ];
    });
    if (created === undefined) return updates;
    const write = create(replicaSetKind, created);
    const size = sizeOf(created);
    return [
      size === 0 ? write : noted(write, { onDone: scaledNote(deployment, created, 0, size) }),
      ...updates,
    ];
  }

  #statusWrite(status: DeploymentStatus): readonly Write[] {
    const { deployment } = this;
    const { annotations } = deployment.metadata;
    const unchanged = this.#revision === undefined || annotations?.[REVISION] === this.#revision;
    if (unchanged && semanticEqual(status, deployment.status)) return [];
    const metadata = unchanged
      ? deployment.metadata
      : { ...deployment.metadata, annotations: { ...annotations, [REVISION]: this.#revision! } };
    return [updateStatus(deploymentKind, { ...deployment, metadata, status })];
  }

  /** Another object has the name: if it is not our own set, the hash collides and must change. */
  #resolveCollision(created: ReplicaSet, status: DeploymentStatus): Pick<Outcome, "writes"> {
    const { deployment } = this;
    const existing = this.#state.namesakes.get(created.metadata.name ?? "");
    const isOurs =
      existing !== undefined &&
      isControlledBy(existing, deployment) &&
      isSameTemplate(existing.spec.template, deployment.spec.template);
    if (existing === undefined || isOurs) return {};
    const collisionCount = (deployment.status.collisionCount ?? 0) + 1;
    return {
      writes: [
        updateStatus(deploymentKind, { ...deployment, status: { ...status, collisionCount } }),
      ],
    };
  }

  #reportFailure(
    created: ReplicaSet,
    status: DeploymentStatus,
    error: string,
  ): Pick<Outcome, "writes" | "events"> {
    const { deployment } = this;
    const message = `Failed to create new replica set "${created.metadata.name}": ${error}`;
    const failed = progressing("False", "ReplicaSetCreateError", message, this.#nowMs);
    const conditions = withCondition(status.conditions, failed, this.#nowMs);
    return {
      events: [{ about: deployment, type: "Warning", reason: "ReplicaSetCreateError", message }],
      writes: hasDeadline(deployment)
        ? [updateStatus(deploymentKind, { ...deployment, status: { ...status, conditions } })]
        : [],
    };
  }

  #want(set: ReplicaSet): void {
    const known = this.#wanted.get(uidOf(set));
    const merged = known === undefined ? set : mergeWanted(known, set);
    this.#wanted.set(uidOf(set), merged);
    const { current, old } = this.#sets;
    const isCurrent = current !== undefined && uidOf(current) === uidOf(set);
    // Later steps see annotations as they will be, but sizes as they are.
    if (isCurrent)
      this.#sets = {
        current: { ...merged, spec: { ...merged.spec, replicas: sizeOf(current) } },
        old,
      };
  }

  #progress(status: "True" | "Unknown", reason: string, message: string): void {
    this.#conditions = withCondition(
      this.#conditions,
      progressing(status, reason, message, this.#nowMs),
      this.#nowMs,
    );
  }
}

function mergeWanted(known: ReplicaSet, next: ReplicaSet): ReplicaSet {
  const annotations = { ...known.metadata.annotations, ...next.metadata.annotations };
  return { ...next, metadata: { ...next.metadata, annotations } };
}

/** What the names of its sets have before the dash and the hash. */
export function setNamePrefix({ metadata: { name = "" }, spec, status }: Deployment): string {
  if (name.length + 1 + HASH_LENGTH_MAX <= NAME_LENGTH_MAX) return name;
  return prefixFor(name, templateHash(spec.template, status.collisionCount));
}

function prefixFor(name: string, hash: string): string {
  return name.slice(0, NAME_LENGTH_MAX - hash.length - 1);
}

function newSet(deployment: Deployment, replicas: number, revision: bigint): ReplicaSet {
  const { namespace, name = "" } = deployment.metadata;
  const { template, selector, minReadySeconds } = deployment.spec;
  const hash = templateHash(template, deployment.status.collisionCount);
  const labels = { ...template.metadata.labels, [HASH_LABEL]: hash };
  const set: ReplicaSet = {
    apiVersion: replicaSetKind.apiVersion,
    kind: "ReplicaSet",
    metadata: {
      name: `${prefixFor(name, hash)}-${hash}`,
      ...(namespace === undefined ? {} : { namespace }),
      labels,
      ownerReferences: [controllerReference(deploymentKind, deployment)],
    },
    spec: {
      replicas,
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector?.matchLabels, [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
    status: { replicas: 0 },
  };
  const annotations = {
    ...newSetAnnotations(deployment, set, revision),
    ...sizeAnnotations(deployment),
  };
  return { ...set, metadata: { ...set.metadata, annotations } };
}

function scaledNote(deployment: Deployment, set: ReplicaSet, from: number, to: number): EventNote {
  const direction = to > from ? "up" : "down";
  const message = `Scaled ${direction} replica set ${set.metadata.name} from ${from} to ${to}`;
  return { about: deployment, type: "Normal", reason: "ScalingReplicaSet", message };
}
