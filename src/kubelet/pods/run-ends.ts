/**
 * When runs of containers ended, by a clock that does not jump. The runtime says it in wall time,
 * which is compared with the present once, when the end is first seen: a wall clock that is set
 * later, by hours in either direction, changes no back-off.
 */
import type { ContainerRun } from "#kubelet/decide/pod-runtime.ts";
import type { Clock } from "#lib/time/clock.ts";

export class RunEnds {
  readonly #clock: Clock;
  /** The last run of each container. */
  readonly #ends = new Map<string, { readonly id: string; readonly endedMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** By the clock's `elapsedMs`. */
  seen({ id, name, state, finishedMs, createdMs }: ContainerRun): number {
    const known = this.#ends.get(name);
    if (known?.id === id) return known.endedMs;
    const wallMs = state === "exited" ? finishedMs : createdMs;
    const endedMs = this.#clock.elapsedMs() - Math.max(0, this.#clock.nowMs() - wallMs);
    this.#ends.set(name, { id, endedMs });
    return endedMs;
  }
}
