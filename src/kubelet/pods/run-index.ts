/**
 * What the runtime has of each pod: its events wake the right worker, and a worker asks for the state of
 * what is known instead of searching all containers of the node.
 *
 * Promises:
 * 1. `known` answers only what is complete: after `replace`, until `distrust` or for TRUSTED_MS. Until then
 *    `add` keeps it complete, since only this kubelet creates containers of its pods.
 * 2. `retain` forgets what the runtime has removed, and keeps the state that each of the others was in.
 * 3. `unseen` finds whatever no worker has decided on, whether its event was lost or never sent.
 */
import type { KnownRuns } from "#kubelet/runtime/read-pod-runtime.ts";
import type { Clock } from "#lib/time/clock.ts";

const TRUSTED_MS = 60_000;

interface Entry {
  readonly sandboxIds: Set<string>;
  /** The sandbox of each container. */
  readonly containers: Map<string, string>;
  trustedUntilMs: number;
}

export class RunIndex {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #podOf = new Map<string, string>();
  readonly #entries = new Map<string, Entry>();
  /** As a worker has last seen them: `ContainerState` or `PodSandboxState` of CRI. */
  readonly #states = new Map<string, number>();

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
  }

  addSandbox(uid: string, id: string): void {
    this.#podOf.set(id, uid);
    this.#entry(uid).sandboxIds.add(id);
  }

  addContainer(uid: string, id: string, sandboxId: string): void {
    this.#podOf.set(id, uid);
    this.#entry(uid).containers.set(id, sandboxId);
  }

  /** These and no others belong to the pod. */
  replace(uid: string, { sandboxIds, containers }: KnownRuns): void {
    this.remove(uid);
    for (const id of sandboxIds) this.addSandbox(uid, id);
    for (const { id, sandboxId } of containers) this.addContainer(uid, id, sandboxId);
    this.#entry(uid).trustedUntilMs = this.#clock.elapsedMs() + TRUSTED_MS;
  }

  /** Of what is known, only these are left, in these states. */
  retain(uid: string, states: ReadonlyMap<string, number>): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return;
    for (const id of [...entry.sandboxIds, ...entry.containers.keys()]) {
      const state = states.get(id);
      if (state !== undefined) {
        this.#states.set(id, state);
        continue;
      }
      entry.sandboxIds.delete(id);
      entry.containers.delete(id);
      this.#forget(id);
    }
  }

  /**
   * Containers and sandboxes of pods that no worker has seen as the runtime has them now: in another state, or
   * not there any more. `states`: of everything that the runtime has.
   */
  unseen(states: ReadonlyMap<string, number>): string[] {
    return [...this.#podOf.keys()].filter((id) => {
      const state = states.get(id);
      return state === undefined || state !== this.#states.get(id);
    });
  }

  /** Something may have been created that is not known, by a call that failed. */
  distrust(uid: string): void {
    this.#entry(uid).trustedUntilMs = Number.NEGATIVE_INFINITY;
  }

  remove(uid: string): void {
    const { sandboxIds = [], containers = new Map<string, string>() } =
      this.#entries.get(uid) ?? {};
    for (const id of [...sandboxIds, ...containers.keys()]) this.#forget(id);
    this.#entries.delete(uid);
  }

  podOf(id: string): string | undefined {
    return this.#podOf.get(id);
  }

  /** All that the runtime has of the pod; undefined if that has to be asked. */
  known(uid: string): KnownRuns | undefined {
    const entry = this.#entries.get(uid);
    if (entry === undefined || entry.trustedUntilMs <= this.#clock.elapsedMs()) return undefined;
    return {
      sandboxIds: [...entry.sandboxIds],
      containers: [...entry.containers].map(([id, sandboxId]) => ({ id, sandboxId })),
    };
  }

  #forget(id: string): void {
    this.#podOf.delete(id);
    this.#states.delete(id);
  }

  #entry(uid: string): Entry {
    let entry = this.#entries.get(uid);
    if (entry === undefined) {
      entry = {
        sandboxIds: new Set(),
        containers: new Map(),
        trustedUntilMs: Number.NEGATIVE_INFINITY,
      };
      this.#entries.set(uid, entry);
    }
    return entry;
  }
}
