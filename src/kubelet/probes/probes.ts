/**
 * Runs the probes of running containers and keeps their results.
 *
 * Promises:
 * 1. A startup probe runs first; the others begin when it has succeeded.
 * 2. A result changes only after as many equal answers in a row as its threshold says.
 * 3. `onChange` is called when the result of a run changed, so that its pod is looked at again.
 * 4. A probe that the runtime could not carry out changes nothing: no container is restarted because
 *    the runtime was down.
 * 5. Probes of a run end when it is no longer among those that `track` was last called with.
 */
import type { Container, Pod, Probe } from "#api/generated/core.v1.ts";
import type { ProbeOutcome, ProbeResults } from "#kubelet/decide/pod-actions.ts";
import { latestRun, type PodRuntime } from "#kubelet/decide/pod-runtime.ts";
import { isSidecar } from "#kubelet/decide/restart.ts";
import type { PodEvents } from "#kubelet/pods/pod-events.ts";
import type { Random } from "#lib/random.ts";
import { type ProbeTools, runProbe } from "./probe-action.ts";
import { ProbeCounts } from "./probe-counts.ts";

type ProbeType = "Startup" | "Liveness" | "Readiness";

export interface ProbesOptions extends ProbeTools {
  readonly random: Random;
  readonly events: PodEvents;
  onChange(uid: string): void;
}

interface Prober {
  readonly uid: string;
  readonly runId: string;
  readonly type: ProbeType;
  readonly probe: Probe;
  readonly stop: AbortController;
  pod: Pod;
  podIp: string;
}

export class Probes implements ProbeResults {
  readonly counts = new ProbeCounts();
  readonly #options: ProbesOptions;
  /** By run and type. */
  readonly #probers = new Map<string, Prober>();
  readonly #results = new Map<string, ProbeOutcome>();

  constructor(options: ProbesOptions) {
    this.#options = options;
  }

  liveness(runId: string): ProbeOutcome | undefined {
    return this.#results.get(`${runId}/Liveness`);
  }

  startup(runId: string): ProbeOutcome | undefined {
    return this.#results.get(`${runId}/Startup`);
  }

  readiness(runId: string): ProbeOutcome | undefined {
    return this.#results.get(`${runId}/Readiness`);
  }

  /** Starts and ends probers so that they fit what runs. `isEnding`: only readiness still counts. */
  track(pod: Pod, runtime: PodRuntime, podIp: string | undefined, isEnding: boolean): void {
    const uid = pod.metadata.uid ?? "";
    const wanted = new Map<string, Omit<Prober, "stop">>();
    const containers = [
      ...(pod.spec.initContainers ?? []).filter(isSidecar),
      ...(pod.spec.containers ?? []),
    ];
    for (const container of containers) {
      const run = latestRun(runtime, container.name);
      if (run?.state !== "running" || podIp === undefined) continue;
      for (const [type, probe] of probesOf(container)) {
        if (isEnding && type !== "Readiness") continue;
        wanted.set(`${run.id}/${type}`, { uid, runId: run.id, type, probe, pod, podIp });
      }
    }
    for (const [id, prober] of this.#probers) {
      if (prober.uid !== uid || wanted.has(id)) continue;
      this.#end(id, prober);
    }
    for (const [id, spec] of wanted) this.#begin(id, spec, runtime);
  }

  forget(uid: string): void {
    this.counts.forget(uid);
    for (const [id, prober] of this.#probers) if (prober.uid === uid) this.#end(id, prober);
  }

  close(): void {
    for (const [id, prober] of this.#probers) this.#end(id, prober);
  }

  #begin(id: string, spec: Omit<Prober, "stop">, runtime: PodRuntime): void {
    const known = this.#probers.get(id);
    if (known !== undefined) {
      known.pod = spec.pod;
      known.podIp = spec.podIp;
      return;
    }
    const prober: Prober = { ...spec, stop: new AbortController() };
    this.#probers.set(id, prober);
    const run = runtime.runs.find((one) => one.id === spec.runId);
    void this.#run(id, prober, run?.name ?? "", run?.startedMs ?? 0).catch(() => undefined);
  }

  #end(id: string, prober: Prober): void {
    prober.stop.abort();
    this.#probers.delete(id);
    this.#results.delete(id);
  }

  async #run(id: string, prober: Prober, name: string, startedMs: number): Promise<void> {
    const { clock } = this.#options;
    const { probe, type, stop } = prober;
    const { signal } = stop;
    const periodMs = (probe.periodSeconds ?? 10) * 1000;
    // A wall clock that was set back since the start must not hold the first probe back.
    const ranMs = Math.max(0, clock.nowMs() - startedMs);
    const delayMs = (probe.initialDelaySeconds ?? 0) * 1000 - ranMs;
    await clock.sleep(Math.max(0, delayMs), signal);
    let last: ProbeOutcome | undefined;
    let inARow = 0;
    for (;;) {
      if (type === "Startup" || this.#hasStarted(prober)) {
        const outcome = await this.#ask(prober, name, signal);
        if (outcome === undefined) {
          await this.#pause(prober, periodMs, signal);
          continue;
        }
        inARow = outcome === last ? inARow + 1 : 1;
        last = outcome;
        const threshold =
          outcome === "success" ? (probe.successThreshold ?? 1) : (probe.failureThreshold ?? 3);
        if (inARow >= threshold) this.#set(id, prober, outcome);
        if (type === "Startup" && this.#results.get(id) === "success") return;
        // A container that failed is killed: its probe has nothing more to say.
        if (type !== "Readiness" && this.#results.get(id) === "failure") return;
      } else if (type === "Readiness") this.#set(id, prober, "failure");
      await this.#pause(prober, periodMs, signal);
    }
  }

  /** Waiting for the startup probe ends as soon as it has succeeded. */
  async #pause(prober: Prober, periodMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    if (prober.type === "Startup" || this.#hasStarted(prober)) {
      await clock.sleep(periodMs, signal);
      return;
    }
    while (!this.#hasStarted(prober)) await clock.sleep(Math.min(periodMs, 1_000), signal);
  }

  #hasStarted({ runId, pod, type }: Prober): boolean {
    if (type === "Startup") return true;
    const hasProbe = this.#probers.has(`${runId}/Startup`) || this.startup(runId) !== undefined;
    return pod !== undefined && (!hasProbe || this.startup(runId) === "success");
  }

  /** Undefined if the runtime could not be asked: such an answer counts for nothing. */
  async #ask(prober: Prober, name: string, signal: AbortSignal): Promise<ProbeOutcome | undefined> {
    const { events } = this.#options;
    const { probe, type, pod, podIp, runId } = prober;
    const all = [...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])];
    const container = all.find((one) => one.name === name);
    if (container === undefined) return "success";
    const target = { container, containerId: runId, podIp };
    const startMs = this.#options.clock.elapsedMs();
    const { outcome, output } = await runProbe(probe, target, this.#options, signal);
    const seconds = (this.#options.clock.elapsedMs() - startMs) / 1000;
    const result =
      outcome === "error" ? "unknown" : outcome === "failure" ? "failed" : "successful";
    this.counts.add({ pod, container: name, type, result, seconds });
    if (outcome === "error") {
      const message = `${type} probe errored and resulted in unknown state: ${output}`;
      events.container(pod, name, "Warning", "Unhealthy", message);
      return undefined;
    }
    if (outcome === "failure") {
      const message = `${type} probe failed: ${output}`;
      events.container(pod, name, "Warning", "Unhealthy", message);
    } else if (outcome === "warning") {
      events.container(pod, name, "Warning", "ProbeWarning", `${type} probe warning: ${output}`);
    }
    return outcome === "failure" ? "failure" : "success";
  }

  #set(id: string, { uid }: Prober, outcome: ProbeOutcome): void {
    if (this.#results.get(id) === outcome) return;
    this.#results.set(id, outcome);
    this.#options.onChange(uid);
  }
}

function probesOf(container: Container): [ProbeType, Probe][] {
  const { startupProbe, livenessProbe, readinessProbe } = container;
  const list: [ProbeType, Probe | undefined][] = [
    ["Startup", startupProbe],
    ["Liveness", livenessProbe],
    ["Readiness", readinessProbe],
  ];
  return list.flatMap(([type, probe]): [ProbeType, Probe][] => (probe ? [[type, probe]] : []));
}
