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

const SELECTED_NODE = "volume.kubernetes.io/selected-node";
const BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller";
const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";
const LOOK_EVERY_MS = 1_000;

export interface NodeVolumes {
  readonly bindings: readonly {
    readonly claim: PersistentVolumeClaim;
    readonly volume: PersistentVolume;
  }[];
  /** Claims for which a volume is made for the node. */
  readonly provisions: readonly PersistentVolumeClaim[];
}

interface Assumption {
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
    await Promise.all([
      ...volumes.bindings.map((binding) => this.#bindVolume(binding, signal)),
      ...volumes.provisions.map((claim) => this.#selectNode(claim, node, signal)),
    ]);
    const claims = [...volumes.bindings.map(({ claim }) => claim), ...volumes.provisions];
    await this.#untilBound(claims, node, signal);
    this.#byPod.delete(pod.uid);
  }

  async #bindVolume(
    { claim, volume }: NodeVolumes["bindings"][number],
    signal: AbortSignal,
  ): Promise<void> {
    if (volume.spec.claimRef?.uid === claim.metadata.uid && claim.metadata.uid !== undefined)
      return;
    const annotations = { ...volume.metadata.annotations, [BOUND_BY_CONTROLLER]: "yes" };
    const next: PersistentVolume = {
      ...volume,
      metadata: { ...volume.metadata, annotations },
      spec: { ...volume.spec, claimRef: referenceTo(claim) },
    };
    const result = await this.#handle.client.update(persistentVolumeKind, next, {}, signal);
    if (!result.ok) throw new Error(`binding volumes: ${result.status.message}`);
  }

  async #selectNode(
    claim: PersistentVolumeClaim,
    node: string,
    signal: AbortSignal,
  ): Promise<void> {
    const next = withNode(claim, node);
    if (next === claim) return;
    const result = await this.#handle.client.update(persistentVolumeClaimKind, next, {}, signal);
    if (!result.ok) throw new Error(`binding volumes: ${result.status.message}`);
  }

  /** Looks every second, only while a pod waits for its volumes. */
  async #untilBound(
    claims: readonly PersistentVolumeClaim[],
    node: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, objects } = this.#handle;
    const deadlineMs = clock.elapsedMs() + this.#timeoutMs;
    for (;;) {
      const current = claims.map(({ metadata }) =>
        objects.claims.get(metadata.namespace, metadata.name ?? ""),
      );
      for (const [index, claim] of current.entries()) {
        const { namespace, name } = claims[index]!.metadata;
        if (claim === undefined) {
          throw new Error(`binding volumes: PVC ${namespace}/${name} was deleted`);
        }
        const selected = claim.metadata.annotations?.[SELECTED_NODE];
        const isProvisioned = claims[index]!.metadata.annotations?.[SELECTED_NODE] !== undefined;
        if (isProvisioned && selected !== node && (claim.spec.volumeName ?? "") === "") {
          // The provisioner gave the node back: another one must be chosen.
          throw new Error(
            `binding volumes: selectedNode annotation value "${selected ?? ""}" not set to scheduled node "${node}"`,
          );
        }
      }
      if (current.every((claim) => claim !== undefined && isBound(claim))) return;
      if (clock.elapsedMs() >= deadlineMs) {
        throw new Error("binding volumes: context deadline exceeded");
      }
      await clock.sleep(Math.min(LOOK_EVERY_MS, deadlineMs - clock.elapsedMs()), signal);
    }
  }
}

function isBound({ metadata, spec }: PersistentVolumeClaim): boolean {
  return (spec.volumeName ?? "") !== "" && metadata.annotations?.[BIND_COMPLETED] !== undefined;
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
