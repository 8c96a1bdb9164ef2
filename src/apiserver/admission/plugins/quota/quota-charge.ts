/** What one write costs one quota: nothing, more than is left, or a new sum. Pure. */

import type { ResourceQuota } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import {
  type Amounts,
  addAmounts,
  amountsText,
  exceededNames,
  excessAmounts,
  negativeNames,
  pickAmounts,
  withoutZeros,
} from "#api/quota/amounts.ts";
import type { Measure } from "#api/quota/measure.ts";
import { isInAllScopes } from "#api/quota/measures.ts";

export interface Demand {
  readonly measure: Measure;
  readonly object: KubeObject;
  /** What was there before; it is charged already. */
  readonly old: KubeObject | undefined;
  readonly subresource: string;
  readonly nowMs: number;
}

export type Charge =
  | { readonly outcome: "free" }
  | { readonly outcome: "refused"; readonly why: string }
  | { readonly outcome: "charged"; readonly used: Amounts };

const FREE: Charge = { outcome: "free" };

export function chargeQuota(quota: ResourceQuota, demand: Demand): Charge {
  const { measure, object, old, nowMs, subresource } = demand;
  const hard = quota.status.hard ?? {};
  const used = quota.status.used ?? {};
  const covered = Object.keys(hard).filter((name) => measure.covers(name));
  if (covered.length === 0 || !isInAllScopes(measure, quota, object)) return FREE;

  const name = quota.metadata.name ?? "";
  const missing = measure.missing?.(object, covered);
  if (missing !== undefined) return refused(`failed quota: ${name}: ${missing}`);
  if (!covered.every((resource) => Object.hasOwn(used, resource))) {
    const resources = covered.sort().join(",");
    return refused(`status unknown for quota: ${name}, resources: ${resources}`);
  }
  const usage = measure.usage(object, nowMs);
  const negative = negativeNames(usage);
  if (negative.length > 0) {
    return refused(`quota usage is negative for resource(s): ${negative.sort().join(",")}`);
  }
  const charged = old !== undefined && isInAllScopes(measure, quota, old);
  const added = charged ? excessAmounts(usage, measure.usage(old, nowMs)) : usage;
  const requested = withoutZeros(pickAmounts(added, Object.keys(hard)));
  if (Object.keys(requested).length === 0) return FREE;

  const sum = addAmounts(used, requested);
  const exceeded = exceededNames(pickAmounts(sum, Object.keys(requested)), hard);
  if (exceeded.length > 0 && subresource !== "status") {
    const show = (amounts: Amounts): string => amountsText(pickAmounts(amounts, exceeded));
    return refused(
      `exceeded quota: ${name}, requested: ${show(requested)}, used: ${show(used)}, ` +
        `limited: ${show(hard)}`,
    );
  }
  return { outcome: "charged", used: sum };
}

function refused(why: string): Charge {
  return { outcome: "refused", why };
}
