/** The chain of admission plug-ins, as the verbs see it. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Clock } from "#lib/clock.ts";
import { andThen, type Eventual } from "#lib/eventual.ts";
import type { AdmissionMetrics, ObserveAdmission } from "../metrics/admission-metrics.ts";
import type { Objects } from "../storage/objects.ts";
import type { AdmissionRequest, Operation } from "./admission-request.ts";
import type { AdmissionContext, AdmissionPlugin } from "./plugin.ts";

export interface Admission {
  /** Lets the plug-ins change the object; a Status refuses it. */
  admit(request: AdmissionRequest): Eventual<Status | undefined>;
  /** Asks those that only look. */
  validate(request: AdmissionRequest): Eventual<Status | undefined>;
}

type Step = "admit" | "validate";

/** A plug-in's hook for one operation. */
interface Hook {
  ask(request: AdmissionRequest, context: AdmissionContext): Eventual<Status | undefined>;
  readonly observe: ObserveAdmission;
}

/** All hooks of a step for one operation. */
interface Chain {
  readonly hooks: readonly Hook[];
  readonly observe: ObserveAdmission;
}

export function createAdmission(
  plugins: readonly AdmissionPlugin[],
  objects: Objects,
  clock: Clock,
  metrics: AdmissionMetrics,
): Admission {
  const chainOf = (step: Step, operation: Operation): Chain => ({
    hooks: plugins.flatMap((plugin) => {
      const ask = plugin[step]?.bind(plugin);
      if (ask === undefined || plugin.operations?.includes(operation) === false) return [];
      return { ask, observe: metrics.plugin(plugin.name, step, operation) };
    }),
    observe: metrics.step(step, operation),
  });
  const stepOf = (step: Step): Admission[Step] => {
    const chains: Readonly<Record<Operation, Chain>> = {
      CREATE: chainOf(step, "CREATE"),
      UPDATE: chainOf(step, "UPDATE"),
      DELETE: chainOf(step, "DELETE"),
      CONNECT: chainOf(step, "CONNECT"),
    };
    return (request) => {
      const { hooks, observe } = chains[request.operation];
      const startMs = clock.elapsedMs();
      const context = { objects, nowMs: clock.nowMs() };
      return andThen(askAll(hooks, 0, request, context, clock, startMs), (refusal) => {
        observe(refusal !== undefined, (clock.elapsedMs() - startMs) / 1000);
        return refusal;
      });
    };
  };
  return { admit: stepOf("admit"), validate: stepOf("validate") };
}

/** One after the other until one refuses; where one ends, the time of the next begins. */
function askAll(
  hooks: readonly Hook[],
  from: number,
  request: AdmissionRequest,
  context: AdmissionContext,
  clock: Clock,
  beginMs: number,
): Eventual<Status | undefined> {
  let startMs = beginMs;
  for (let at = from; at < hooks.length; at++) {
    const { ask, observe } = hooks[at]!;
    const answer = ask(request, context);
    if (answer instanceof Promise) {
      return answer.then((refusal) => {
        const endMs = clock.elapsedMs();
        observe(refusal !== undefined, (endMs - startMs) / 1000);
        return refusal ?? askAll(hooks, at + 1, request, context, clock, endMs);
      });
    }
    const endMs = clock.elapsedMs();
    observe(answer !== undefined, (endMs - startMs) / 1000);
    startMs = endMs;
    if (answer !== undefined) return answer;
  }
  return undefined;
}
