/** The plug-ins that the API itself configures: admission webhooks and policies. */
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Tracer } from "#lib/tracing/tracer.ts";
import { createPolicyMetrics } from "../metrics/policy-metrics.ts";
import { createWebhookMetrics } from "../metrics/webhook-metrics.ts";
import type { WebhookCall, WebhookClient } from "../webhook/webhook-client.ts";
import type { AdmissionPlugin } from "./plugin.ts";
import { mutatingAdmissionPolicies } from "./policies/mutating-policies.ts";
import type { PolicyParts } from "./policies/policy-parts.ts";
import { validatingAdmissionPolicies } from "./policies/validating-policies.ts";
import { mutatingAdmissionWebhooks } from "./webhooks/mutating-webhooks.ts";
import { validatingAdmissionWebhooks } from "./webhooks/validating-webhooks.ts";

export interface DynamicAdmissionOptions extends Omit<PolicyParts, "metrics"> {
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly webhooks: WebhookClient;
  /** What the server proves itself with to webhooks; nothing unless given. */
  readonly credentialsFor?: WebhookCall["credentialsFor"];
  /** Makes spans of calls to webhooks. */
  readonly tracer?: Tracer | undefined;
}

export interface DynamicAdmission {
  readonly mutating: readonly AdmissionPlugin[];
  readonly validating: readonly AdmissionPlugin[];
}

/** Follows the configurations until the signal aborts. */
export function webhooksAndPolicies(
  options: DynamicAdmissionOptions,
  signal: AbortSignal,
): DynamicAdmission {
  const policyMetrics = createPolicyMetrics(options.metrics);
  const policies = { ...options, metrics: policyMetrics };
  const webhooks = {
    ...options,
    client: options.webhooks,
    metrics: createWebhookMetrics(options.metrics),
    conditionMetrics: policyMetrics,
  };
  return {
    mutating: [
      mutatingAdmissionPolicies(policies, signal),
      mutatingAdmissionWebhooks(webhooks, signal),
    ],
    validating: [
      validatingAdmissionPolicies(policies, signal),
      validatingAdmissionWebhooks(webhooks, signal),
    ],
  };
}
