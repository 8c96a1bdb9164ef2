/** The admission plug-ins that the flags ask for. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { load } from "js-yaml";
import {
  type PluginConfigurations,
  readPluginConfigurations,
} from "#apiserver/admission/configuration.ts";
import type { AdmissionPlugin } from "#apiserver/admission/plugin.ts";
import { admissionPlugins } from "#apiserver/admission/registry.ts";
import { webhooksAndPolicies } from "#apiserver/admission/webhooks-and-policies.ts";
import { createEscalationCheck } from "#apiserver/authz/escalation.ts";
import type { KindRegistry } from "#apiserver/registry/kind-registry.ts";
import type { RequestSecurity } from "#apiserver/request/security.ts";
import type { Objects } from "#apiserver/storage/objects.ts";
import { withRetries } from "#apiserver/webhook/webhook.ts";
import type { Clock } from "#lib/clock.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { ApiServerFlags } from "./flags/flags.ts";
import { webhookFrom } from "./webhook-call.ts";

const WEBHOOK_TIMEOUT_MS = 30_000;

export interface AdmissionParts {
  readonly objects: Objects;
  readonly security: RequestSecurity;
  readonly resources: KindRegistry;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
}

export function admissionOf(
  flags: ApiServerFlags,
  parts: AdmissionParts,
  signal: AbortSignal,
): readonly AdmissionPlugin[] {
  const { security, resources, clock, random } = parts;
  const { authorizer, rules } = security;
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
        ...webhooksAndPolicies({ ...parts, authorizer }, signal),
        findKind: (version, kind) => resources.findKind(version, kind),
        openWebhook: (kubeconfig, firstRetryMs) =>
          withRetries(webhookFrom(kubeconfig, WEBHOOK_TIMEOUT_MS), { clock, random }, firstRetryMs),
        ...configurationsOf(flags),
      },
      { enable: flags.enableAdmissionPlugins, disable: flags.disableAdmissionPlugins },
    ),
    createEscalationCheck(rules, authorizer),
  ];
}

function configurationsOf({ admissionControlConfigFile: file }: ApiServerFlags): {
  configurations?: PluginConfigurations;
} {
  if (file === undefined) return {};
  const read = (path: string): unknown => load(readFileSync(resolve(dirname(file), path), "utf8"));
  return { configurations: readPluginConfigurations(readFileSync(file, "utf8"), read) };
}
