/** The plug-ins that the API itself configures: admission webhooks and policies. */

import type { Metrics } from "#lib/metrics.ts";
import { createPolicyMetrics } from "../metrics/policy-metrics.ts";
import type { AdmissionPlugin } from "./plugin.ts";
import type { PolicyParts } from "./policies/policy-parts.ts";
import { validatingAdmissionPolicies } from "./policies/validating-policies.ts";

export interface DynamicAdmissionOptions extends Omit<PolicyParts, "metrics"> {
  readonly metrics: Metrics;
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
  const parts = { ...options, metrics: createPolicyMetrics(options.metrics) };
  return {
    mutating: [],
    validating: [validatingAdmissionPolicies(parts, signal)],
  };
}
