/** The chain of admission plug-ins, as the verbs see it. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Clock } from "#lib/clock.ts";
import { andThen, type Eventual } from "#lib/eventual.ts";
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from "./admission/plugin.ts";
import type { Objects } from "./objects.ts";
import type { ObserveStep } from "./security-metrics.ts";

export interface Admission {
  /** Lets the plug-ins change the object; a Status refuses it. */
  admit(request: AdmissionRequest): Eventual<Status | undefined>;
  /** Asks those that only look. */
  validate(request: AdmissionRequest): Eventual<Status | undefined>;
}

type Step = "admit" | "validate";
type Hook = (request: AdmissionRequest, context: AdmissionContext) => Eventual<Status | undefined>;

export function createAdmission(
  plugins: readonly AdmissionPlugin[],
  objects: Objects,
  clock: Clock,
  observe?: ObserveStep,
): Admission {
  const chain = (step: Step): Admission[Step] => {
    const hooks = plugins.flatMap((plugin) => plugin[step]?.bind(plugin) ?? []);
    return (request) => {
      const startMs = clock.elapsedMs();
      const verdict = askAll(hooks, 0, request, { objects, nowMs: clock.nowMs() });
      if (observe === undefined) return verdict;
      return andThen(verdict, (refusal) => {
        const seconds = (clock.elapsedMs() - startMs) / 1000;
        observe(step, request.operation, refusal !== undefined, seconds);
        return refusal;
      });
    };
  };
  return { admit: chain("admit"), validate: chain("validate") };
}

/** One after the other until one refuses. */
function askAll(
  hooks: readonly Hook[],
  from: number,
  request: AdmissionRequest,
  context: AdmissionContext,
): Eventual<Status | undefined> {
  for (let at = from; at < hooks.length; at++) {
    const answer = hooks[at]!(request, context);
    if (answer instanceof Promise) {
      return answer.then((refusal) => refusal ?? askAll(hooks, at + 1, request, context));
    }
    if (answer !== undefined) return answer;
  }
  return undefined;
}
