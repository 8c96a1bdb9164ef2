/** Watches whether the runtime is up and its network ready: often while it is not, rarely once it is. */

import type { RuntimeService } from "#kubelet/cri/cri-client.ts";
import type { RuntimeStatus, RuntimeVersion } from "#kubelet/cri/runtime-methods.ts";
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";

const WELL_MS = 10_000;
const UNWELL_MS = 250;

export interface RuntimeHealth {
  readonly version: RuntimeVersion | undefined;
  readonly handlers: RuntimeStatus["runtimeHandlers"];
  readonly supplementalGroupsPolicy: boolean;
  readonly runtimeProblem: string | undefined;
  readonly networkProblem: string | undefined;
}

const NOT_ASKED: RuntimeHealth = {
  version: undefined,
  handlers: [],
  supplementalGroupsPolicy: false,
  runtimeProblem: "container runtime status check may not have completed yet",
  networkProblem: "container runtime status check may not have completed yet",
};

export class RuntimeWatch {
  readonly #runtime: RuntimeService;
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #health = NOT_ASKED;

  constructor(runtime: RuntimeService, clock: Clock, onChange: () => void) {
    this.#runtime = runtime;
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get health(): RuntimeHealth {
    return this.#health;
  }

  async check(signal: AbortSignal): Promise<void> {
    const before = this.#health;
    this.#health = await this.#ask(signal);
    const { runtimeProblem, networkProblem } = this.#health;
    if (before.runtimeProblem !== runtimeProblem || before.networkProblem !== networkProblem) {
      this.#onChange();
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { runtimeProblem, networkProblem } = this.#health;
      const isWell = runtimeProblem === undefined && networkProblem === undefined;
      await this.#clock.sleep(isWell ? WELL_MS : UNWELL_MS, signal).catch(() => undefined);
      if (!signal.aborted) await this.check(signal);
    }
  }

  async #ask(signal: AbortSignal): Promise<RuntimeHealth> {
    try {
      // A runtime that was down may be another one afterwards.
      const { version: known, runtimeProblem } = this.#health;
      const options = { signal, timeoutMs: 10_000 };
      const [version, answer] = await Promise.all([
        known !== undefined && runtimeProblem === undefined
          ? known
          : this.#runtime.version({}, options),
        this.#runtime.status({}, options),
      ]);
      const problemOf = (type: string, what: string): string | undefined => {
        const found = answer.status?.conditions.find((one) => one.type === type);
        if (found?.status) return undefined;
        const { reason = "", message = "" } = found ?? {};
        return `container runtime ${what}not ready: ${type}=false reason:${reason} message:${message}`;
      };
      return {
        version,
        handlers: answer.runtimeHandlers,
        supplementalGroupsPolicy: answer.features?.supplementalGroupsPolicy ?? false,
        runtimeProblem: problemOf("RuntimeReady", ""),
        networkProblem: problemOf("NetworkReady", "network "),
      };
    } catch (error) {
      const problem = `container runtime is down: ${messageOf(error)}`;
      return { ...this.#health, runtimeProblem: problem, networkProblem: problem };
    }
  }
}
