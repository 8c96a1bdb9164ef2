/** The admission plug-ins that the flags ask for. */
import type { AdmissionPlugin } from "#apiserver/admission/plugin.ts";
import { admissionPlugins } from "#apiserver/admission/registry.ts";
import { createEscalationCheck } from "#apiserver/authz/escalation.ts";
import type { RequestSecurity } from "#apiserver/security.ts";
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import type { ApiServerFlags } from "./flags.ts";

export function admissionOf(
  flags: ApiServerFlags,
  { authorizer, rules }: RequestSecurity,
  clock: Clock,
  random: Random,
): readonly AdmissionPlugin[] {
  return [
    ...admissionPlugins(
      {
        authorizer,
        clock,
        random,
        tolerationSeconds: {
          notReady: flags.defaultNotReadyTolerationSeconds,
          unreachable: flags.defaultUnreachableTolerationSeconds,
        },
        mutating: [],
        validating: [],
      },
      { enable: flags.enableAdmissionPlugins, disable: flags.disableAdmissionPlugins },
    ),
    createEscalationCheck(rules, authorizer),
  ];
}
