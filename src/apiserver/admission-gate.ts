/** The chain of admission plug-ins, as the verbs see it. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Clock } from "#lib/clock.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission/plugin.ts";
import type { Objects } from "./objects.ts";

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
  return {
    admit: (request) => run("admit", request),
    validate: (request) => run("validate", request),
  };
}
