/** The chain of admission plug-ins, as the verbs see it. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Clock } from "#lib/clock.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission/plugin.ts";
import type { Objects } from "./objects.ts";
import type { ObserveStep } from "./security-metrics.ts";

export interface Admission {
  /** Lets the plug-ins change the object; a Status refuses it. */
  admit(request: AdmissionRequest): Promise<Status | undefined>;
  /** Asks those that only look. */
  validate(request: AdmissionRequest): Promise<Status | undefined>;
}

export function createAdmission(
  plugins: readonly AdmissionPlugin[],
  objects: Objects,
  clock: Clock,
  observe?: ObserveStep,
): Admission {
  const hooked = {
    admit: plugins.filter(({ admit }) => admit !== undefined),
    validate: plugins.filter(({ validate }) => validate !== undefined),
  };
  const run = async (
    hook: "admit" | "validate",
    request: AdmissionRequest,
  ): Promise<Status | undefined> => {
    const context = { objects, nowMs: clock.nowMs() };
    for (const plugin of hooked[hook]) {
      const answer = plugin[hook]!(request, context);
      // Most answer at once; waiting a turn for each of them would cost more than they do.
      const refusal = answer instanceof Promise ? await answer : answer;
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  };
  const timed = async (
    hook: "admit" | "validate",
    request: AdmissionRequest,
  ): Promise<Status | undefined> => {
    if (observe === undefined) return await run(hook, request);
    const startMs = clock.elapsedMs();
    const refusal = await run(hook, request);
    const seconds = (clock.elapsedMs() - startMs) / 1000;
    observe(hook, request.operation, refusal !== undefined, seconds);
    return refusal;
  };
  return {
    admit: (request) => timed("admit", request),
    validate: (request) => timed("validate", request),
  };
}
