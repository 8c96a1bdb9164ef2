/**
 * Volumes and claims that were given to pods on their way to a node: other pods see them as taken.
 * `bind` writes them and waits until the volume controller has bound them.
 */
import type {
  ObjectReference,
  PersistentVolume,
  PersistentVolumeClaim,
} from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import type { Handle } from "#scheduler/plugin.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { checkBindings } from "./check-bindings.ts";
import { SELECTED_NODE } from "./pod-claims.ts";

const BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller";
const LOOK_EVERY_MS = 1_000;

export interface NodeVolumes {
  readonly bindings: readonly {
    readonly claim: PersistentVolumeClaim;
    readonly volume: PersistentVolume;
  }[];
  /** Claims for which a volume is made for the node. */
  readonly provisions: readonly PersistentVolumeClaim[];
}

/** What was chosen for a pod, and the node for which it was. */
export interface Assumption {
  readonly volumes: NodeVolumes;
  readonly node: string;
}

export class AssumedBindings {
  readonly #handle: Handle;
  readonly #timeoutMs: number;
  readonly #byPod = new Map<string, Assumption>();

  constructor(handle: Handle, timeoutMs: number) {
    this.#handle = handle;
    this.#timeoutMs = timeoutMs;
  }

  /** Names of volumes that are given away and not bound yet. */
  *takenVolumes(): Iterable<string> {
    for (const { volumes } of this.#byPod.values()) {
      for (const { volume } of volumes.bindings) yield volume.metadata.name ?? "";
    }
  }

  /** The claim as it is going to be: with the node that was chosen for it. */
  claim(claim: PersistentVolumeClaim): PersistentVolumeClaim {
    for (const { volumes, node } of this.#byPod.values()) {
      const isOurs = (one: PersistentVolumeClaim): boolean =>
        one.metadata.uid === claim.metadata.uid;
      if (volumes.provisions.some(isOurs)) return withNode(claim, node);
    }
    return claim;
  }

  has({ uid }: PodInfo): boolean {
    return this.#byPod.has(uid);
  }

  assume({ uid }: PodInfo, volumes: NodeVolumes, node: string): void {
    if (volumes.bindings.length + volumes.provisions.length === 0) return;
    this.#byPod.set(uid, { volumes, node });
  }

  forget({ uid }: PodInfo): void {
    this.#byPod.delete(uid);
  }

  async bind(pod: PodInfo, signal: AbortSignal): Promise<void> {
    const assumption = this.#byPod.get(pod.uid);
    if (assumption === undefined) return;
    const { volumes, node } = assumption;
    const [bindings, provisions] = await Promise.all([
      Promise.all(volumes.bindings.map((binding) => this.#bindVolume(binding, signal))),
      Promise.all(volumes.provisions.map((claim) => this.#selectNode(claim, node, signal))),
    ]);
    await this.#untilBound(pod, { volumes: { bindings, provisions }, node }, signal);
    this.#byPod.delete(pod.uid);
  }

  async #bindVolume(
    binding: NodeVolumes["bindings"][number],
    signal: AbortSignal,
  ): Promise<NodeVolumes["bindings"][number]> {
    const { claim, volume } = binding;
    const { uid } = claim.metadata;
    if (uid !== undefined && volume.spec.claimRef?.uid === uid) return binding;
    const annotations = { ...volume.metadata.annotations, [BOUND_BY_CONTROLLER]: "yes" };
    const next: PersistentVolume = {
      ...volume,
      metadata: { ...volume.metadata, annotations },
      spec: { ...volume.spec, claimRef: referenceTo(claim) },
    };
    const result = await this.#handle.client.update(persistentVolumeKind, next, {}, signal);
    if (!result.ok) throw new Error(result.status.message);
    return { claim, volume: result.value };
  }

  async #selectNode(
    claim: PersistentVolumeClaim,
    node: string,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim> {
    const next = withNode(claim, node);
    if (next === claim) return claim;
    const result = await this.#handle.client.update(persistentVolumeClaimKind, next, {}, signal);
    if (!result.ok) throw new Error(result.status.message);
    return result.value;
  }

  /** Looks every second, only while a pod waits for its volumes. */
  async #untilBound(pod: PodInfo, written: Assumption, signal: AbortSignal): Promise<void> {
    const { clock } = this.#handle;
    const deadlineMs = clock.elapsedMs() + this.#timeoutMs;
    for (;;) {
      const state = checkBindings(pod, written, this.#handle);
      if (state.is === "failed") throw new Error(`binding volumes: ${state.why}`);
      if (state.is === "bound") return;
      if (clock.elapsedMs() >= deadlineMs) {
        throw new Error("binding volumes: context deadline exceeded");
      }
      await clock.sleep(Math.min(LOOK_EVERY_MS, deadlineMs - clock.elapsedMs()), signal);
    }
  }
}

function withNode(claim: PersistentVolumeClaim, node: string): PersistentVolumeClaim {
  if (claim.metadata.annotations?.[SELECTED_NODE] === node) return claim;
  const annotations = { ...claim.metadata.annotations, [SELECTED_NODE]: node };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

function referenceTo({ metadata }: PersistentVolumeClaim): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    kind: "PersistentVolumeClaim",
    apiVersion: "v1",
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}
