/**
 * What the node has allocated to its pods, and what their containers were last given.
 *
 * Promises:
 * 1. Both survive a restart of the kubelet: files `allocated_pods_state` and `actuated_pods_state`
 *    in the kubelet's folder, in upstream's form. A file that cannot be read counts as empty.
 * 2. `save` resolves when everything that was set before is in the files; writes never overlap.
 */
import { join } from "node:path";
import type { ResourceRequirements } from "#api/generated/core.v1.ts";
import type { PodAllocation } from "#kubelet/decide/resize.ts";
import { CheckpointWriter } from "#kubelet/resources/checkpoint-writer.ts";
import { dataChecksum } from "./data-checksum.ts";

export class Allocations {
  readonly #onFreed: (waiting: Iterable<string>) => void;
  /** Pods whose resize the node could not give. */
  readonly #waiting = new Set<string>();
  readonly #allocated = new Map<string, PodAllocation>();
  readonly #actuated = new Map<string, PodAllocation>();
  readonly #allocatedFile: CheckpointWriter;
  readonly #actuatedFile: CheckpointWriter;

  /**
   * `onFreed`: something was given back, and these pods wait for a resize. `onFailed`: a file could not be
   * written by itself; the next change tries again.
   */
  constructor(
    folder: string,
    onFreed: (waiting: Iterable<string>) => void,
    onFailed: (file: string, why: string) => void,
  ) {
    this.#onFreed = onFreed;
    const file = (name: string, entries: ReadonlyMap<string, PodAllocation>): CheckpointWriter =>
      new CheckpointWriter({
        path: join(folder, name),
        text: () => fileText(entries),
        onFailed: (why) => onFailed(name, why),
      });
    this.#allocatedFile = file("allocated_pods_state", this.#allocated);
    this.#actuatedFile = file("actuated_pods_state", this.#actuated);
  }

  async load(): Promise<void> {
    read(await this.#allocatedFile.read(), this.#allocated);
    read(await this.#actuatedFile.read(), this.#actuated);
  }

  allocated(uid: string): PodAllocation | undefined {
    return this.#allocated.get(uid);
  }

  actuated(uid: string): PodAllocation | undefined {
    return this.#actuated.get(uid);
  }

  allocate(uid: string, allocation: PodAllocation): void {
    const isResize = this.#allocated.has(uid);
    this.#waiting.delete(uid);
    this.#allocated.set(uid, allocation);
    this.#allocatedFile.saveLater();
    if (isResize) this.#onFreed(this.#waiting);
  }

  /** The pod is looked at again when something is given back. */
  wait(uid: string): void {
    this.#waiting.add(uid);
  }

  /** The pod as a whole was given these amounts. */
  actuatePod(uid: string, podResources: ResourceRequirements | undefined): void {
    const containers = this.#actuated.get(uid)?.containers ?? {};
    this.#actuated.set(uid, {
      ...(podResources === undefined ? {} : { podResources }),
      containers,
    });
    this.#actuatedFile.saveLater();
  }

  /** A container was started with these amounts, or given them. */
  actuate(uid: string, container: string, resources: ResourceRequirements): void {
    const before = this.#actuated.get(uid);
    const podResources =
      before === undefined ? this.#allocated.get(uid)?.podResources : before.podResources;
    const containers = { ...before?.containers, [container]: resources };
    this.#actuated.set(uid, {
      ...(podResources === undefined ? {} : { podResources }),
      containers,
    });
    this.#actuatedFile.saveLater();
  }

  forget(uid: string): void {
    this.#waiting.delete(uid);
    const isKnown = this.#allocated.delete(uid);
    if (!this.#actuated.delete(uid) && !isKnown) return;
    this.#allocatedFile.saveLater();
    this.#actuatedFile.saveLater();
    this.#onFreed(this.#waiting);
  }

  /** Those of pods that the node does not have any more. */
  forgetOthers(hasPod: (uid: string) => boolean): void {
    for (const uid of [...this.#allocated.keys(), ...this.#actuated.keys()]) {
      if (!hasPod(uid)) this.forget(uid);
    }
  }

  async save(): Promise<void> {
    await Promise.all([this.#allocatedFile.save(), this.#actuatedFile.save()]);
  }
}

/** As upstream's types name the fields. */
interface StoredInfo {
  readonly ContainerResources?: Readonly<Record<string, ResourceRequirements>> | null;
  readonly PodLevelResources?: ResourceRequirements | null;
}

function fileText(entries: ReadonlyMap<string, PodAllocation>): string {
  const stored = [...entries].map(([uid, { containers, podResources }]) => [
    uid,
    { ContainerResources: containers, PodLevelResources: podResources ?? null },
  ]);
  const data = JSON.stringify({ entries: Object.fromEntries(stored) });
  return JSON.stringify({ data, checksum: dataChecksum(data) });
}

function read(text: string | undefined, into: Map<string, PodAllocation>): void {
  if (text === undefined) return;
  try {
    const { data, checksum } = JSON.parse(text) as { data: string; checksum: number };
    if (dataChecksum(data) !== checksum) return;
    const { entries = {} } = JSON.parse(data) as { entries?: Record<string, StoredInfo> };
    for (const [uid, { ContainerResources, PodLevelResources }] of Object.entries(entries)) {
      into.set(uid, {
        ...(PodLevelResources ? { podResources: PodLevelResources } : {}),
        containers: ContainerResources ?? {},
      });
    }
  } catch {
    // A damaged file: pods are allocated what their specs ask for.
  }
}
