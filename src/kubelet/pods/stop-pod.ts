/** Ends everything of a pod that runs: containers with their grace, then the sandboxes. */
import type { Pod } from "#api/generated/core.v1.ts";
import { latestRun, type PodRuntime } from "#kubelet/decide/pod-runtime.ts";
import { messageOf } from "#lib/caught.ts";
import type { PodServices } from "./pod-services.ts";
import { graceOf, stopContainers } from "./stop-containers.ts";

const RETRY_MS = 1_000;

export class StopPod {
  readonly #services: PodServices;
  readonly #onDone: () => void;
  readonly #signal: AbortSignal;
  #running = 0;
  #endMs = Number.POSITIVE_INFINITY;
  #pass: AbortController | undefined;

  constructor(services: PodServices, onDone: () => void, signal: AbortSignal) {
    this.#services = services;
    this.#onDone = onDone;
    this.#signal = signal;
  }

  get isBusy(): boolean {
    return this.#running > 0;
  }

  /** Does nothing if it is under way already and would not end earlier. */
  stop(pod: Pod, runtime: PodRuntime, podIp: string | undefined, graceSeconds?: number): void {
    const { clock } = this.#services;
    const endMs = clock.elapsedMs() + (graceSeconds ?? graceOf(pod, undefined)) * 1000;
    const isRepeat = this.isBusy;
    if (isRepeat && endMs >= this.#endMs - 1_000) return;
    this.#endMs = endMs;
    this.#pass?.abort(new Error("a shorter grace period"));
    this.#pass = new AbortController();
    this.#running += 1;
    void this.#run({ pod, runtime, podIp, graceSeconds, isRepeat }, this.#pass.signal);
  }

  async #run(request: Request, signal: AbortSignal): Promise<void> {
    const { clock, events, logger } = this.#services;
    const { pod } = request;
    try {
      await this.#stopAll(request, signal);
    } catch (error) {
      if (!this.#signal.aborted && !signal.aborted) {
        const why = messageOf(error);
        logger.warn("a pod could not be stopped", { pod: pod.metadata.name, why });
        events.pod(pod, "Warning", "FailedKillPod", `error killing pod: ${why}`);
        await clock.sleep(RETRY_MS, this.#signal).catch(() => undefined);
      }
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#endMs = Number.POSITIVE_INFINITY;
      this.#onDone();
    }
  }

  async #stopAll(request: Request, signal: AbortSignal): Promise<void> {
    const { pod, runtime, podIp, graceSeconds, isRepeat } = request;
    const names = new Set(runtime.runs.map(({ name }) => name));
    const latest = [...names].map((name) => latestRun(runtime, name)!);
    await stopContainers(
      { pod, runs: latest, podIp, graceSeconds, isRepeat },
      this.#services,
      signal,
    );
    if (signal.aborted) return;
    for (const { id } of runtime.sandboxes) {
      await this.#services.runtime.stopPodSandbox({ podSandboxId: id });
    }
  }
}

interface Request {
  readonly pod: Pod;
  readonly runtime: PodRuntime;
  readonly podIp: string | undefined;
  readonly graceSeconds: number | undefined;
  readonly isRepeat: boolean;
}
