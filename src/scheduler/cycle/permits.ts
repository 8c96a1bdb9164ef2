/** Pods that have a node and wait for a plugin to let them go there. */

import { formatDuration } from "#api/meta/duration.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";
import {
  FITS,
  type Plugin,
  type Rejected,
  rejected,
  type Verdict,
  type Wait,
} from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { runHook } from "./plugin-error.ts";

export type PermitOutcome =
  | { readonly outcome: "allowed" }
  | { readonly outcome: "rejected"; readonly plugin: string; readonly verdict: Rejected }
  | { readonly outcome: "waiting"; readonly answer: Promise<PermitAnswer> };

export type PermitAnswer =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly plugin: string; readonly verdict: Rejected };

interface WaitingPod {
  readonly timers: Map<string, Timer>;
  settle(answer: PermitAnswer): void;
}

export class Permits {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, WaitingPod>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  ask(plugins: readonly Plugin[], pod: PodInfo, node: NodeInfo): PermitOutcome {
    const waits: (readonly [plugin: string, wait: Wait])[] = [];
    for (const plugin of plugins) {
      const answer = runHook<Verdict | Wait>(`running Permit plugin "${plugin.name}"`, () =>
        plugin.permit!(pod, node),
      );
      if ("waitMs" in answer) waits.push([plugin.name, answer]);
      else if (answer !== FITS) {
        return { outcome: "rejected", plugin: plugin.name, verdict: answer as Rejected };
      }
    }
    if (waits.length === 0) return { outcome: "allowed" };
    return { outcome: "waiting", answer: this.#wait(pod.uid, waits) };
  }

  /** One plugin lets the pod go; it goes when all have. */
  allow(uid: string, plugin: string): void {
    const pod = this.#waiting.get(uid);
    if (pod === undefined) return;
    pod.timers.get(plugin)?.cancel();
    pod.timers.delete(plugin);
    if (pod.timers.size === 0) pod.settle({ allowed: true });
  }

  /** Whether the pod was waiting. */
  reject(uid: string, plugin: string, reason: string): boolean {
    const pod = this.#waiting.get(uid);
    pod?.settle({ allowed: false, plugin, verdict: rejected(reason) });
    return pod !== undefined;
  }

  #wait(uid: string, waits: readonly (readonly [string, Wait])[]): Promise<PermitAnswer> {
    return new Promise((resolve) => {
      const timers = new Map<string, Timer>();
      const settle = (answer: PermitAnswer): void => {
        for (const timer of timers.values()) timer.cancel();
        this.#waiting.delete(uid);
        resolve(answer);
      };
      for (const [plugin, { waitMs }] of waits) {
        const waited = formatDuration(BigInt(Math.round(waitMs)) * 1_000_000n);
        const text = `rejected due to timeout after waiting ${waited} at plugin ${plugin}`;
        const verdict = rejected(text);
        timers.set(
          plugin,
          this.#clock.schedule(waitMs, () => settle({ allowed: false, plugin, verdict })),
        );
      }
      this.#waiting.set(uid, { timers, settle });
    });
  }
}
