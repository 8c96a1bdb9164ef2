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
import type { AdmissionParts } from "#apiserver/server.ts";
import { withRetries } from "#apiserver/webhook/webhook.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Tracer } from "#lib/tracing/tracer.ts";
import { egressDialers } from "./egress.ts";
import type { ApiServerFlags } from "./flags/flags.ts";
import { webhookFrom } from "./webhook-call.ts";
import { webhookCredentials } from "./webhook-credentials.ts";

const WEBHOOK_TIMEOUT_MS = 30_000;

export interface AdmissionSurroundings extends AdmissionParts {
  readonly tracer?: Tracer | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export function admissionOf(
  flags: ApiServerFlags,
  parts: AdmissionSurroundings,
  signal: AbortSignal,
): readonly AdmissionPlugin[] {
  const { security, resources, clock, random } = parts;
  const { authorizer, rules } = security;
  const configured = configurationsOf(flags);
  const connect = egressDialers(flags.egressSelectorConfigFile).controlplane;
  const credentialsFor = webhookCredentials(configured.configurations);
  return [
    ...admissionPlugins(
      {
        authorizer,
        features: flags.features,
        clock,
        random,
        tolerationSeconds: {
          notReady: flags.defaultNotReadyTolerationSeconds,
          unreachable: flags.defaultUnreachableTolerationSeconds,
        },
        ...webhooksAndPolicies({ ...parts, authorizer, credentialsFor }, signal),
        findKind: (version, kind) => resources.findKind(version, kind),
        openWebhook: (kubeconfig, firstRetryMs) =>
          withRetries(
            webhookFrom(kubeconfig, { timeoutMs: WEBHOOK_TIMEOUT_MS, connect }),
            { clock, random },
            firstRetryMs,
          ),
        ...configured,
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
