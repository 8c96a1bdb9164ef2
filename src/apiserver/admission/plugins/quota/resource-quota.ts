/**
 * Charges writes to the quotas of their namespace, before they are stored.
 *
 * Promises:
 * 1. What is admitted together never exceeds a quota: usage is written by compare-and-swap before the
 *    objects are.
 * 2. Writes that come while a namespace's quotas are being written are charged together afterwards, so
 *    that many of them cost few writes.
 * 3. A write that fails later stays charged until the quota controller counts again: never too little.
 */

import type { ResourceQuota } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft } from "#api/kind.ts";
import { resourceQuotaKind } from "#api/kinds/core/v1/resources/resource-quota.ts";
import { internalErrorStatus } from "#api/meta/status.ts";
import type { Measure } from "#api/quota/measure.ts";
import { measureOf } from "#api/quota/measures.ts";
import type { Objects } from "../../../storage/objects.ts";
import type { AdmissionRequest } from "../../admission-request.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { refuse } from "../../refuse.ts";
import { isOf } from "../../requests.ts";
import { chargeQuota, type Demand } from "./quota-charge.ts";
import { readQuotaLimits, uncoveredRefusal } from "./quota-limits.ts";

/** Throws when the configuration is none. */
export function resourceQuota(configuration?: unknown): AdmissionPlugin {
  const limits = readQuotaLimits(configuration);
  const desks = new Map<string, QuotaDesk>();
  return {
    name: "ResourceQuota",
    operations: ["CREATE", "UPDATE"],
    validate(request, { objects, nowMs }) {
      const { namespace, object, old, subresource, kind } = request;
      if (namespace === "" || object === undefined || isOf(kind, "", "namespaces")) return;
      const measure = measureOf(kind);
      if (measure === undefined || !isCounted(request, measure)) return;
      const quotas = quotasOf(objects, namespace);
      if (quotas.length === 0 && limits.length === 0) return;
      const demand: Demand = {
        measure,
        object,
        old,
        subresource,
        nowMs,
      };
      const uncovered = uncoveredRefusal(request, demand, quotas, limits);
      if (uncovered !== undefined || quotas.length === 0) return uncovered;
      if (request.dryRun) return refusalOf(request, demand, quotas);
      const desk = desks.get(namespace) ?? new QuotaDesk(namespace, objects);
      desks.set(namespace, desk);
      return desk.charge(request, demand).finally(() => {
        if (desk.isIdle) desks.delete(namespace);
      });
    },
  };
}

/** Whether a write can change what an object costs. */
function isCounted({ operation, subresource, object, old }: AdmissionRequest, measure: Measure) {
  if (operation === "CREATE") return subresource === "";
  if (object === undefined || old === undefined) return false;
  return measure.changesWith?.(subresource, object, old) ?? false;
}

function quotasOf(objects: Objects, namespace: string): ResourceQuota[] {
  return [...objects.list(resourceQuotaKind, namespace)];
}

function refusalOf(
  request: AdmissionRequest,
  demand: Demand,
  quotas: readonly ResourceQuota[],
): Status | undefined {
  for (const quota of quotas) {
    const charge = chargeQuota(quota, demand);
    if (charge.outcome === "refused") return refuse(request, charge.why);
  }
  return undefined;
}

interface Waiter {
  readonly request: AdmissionRequest;
  readonly demand: Demand;
  refusal: Status | undefined;
  settle(refusal: Status | undefined): void;
}

/** Where the writes of one namespace queue up to be charged. */
class QuotaDesk {
  readonly #namespace: string;
  readonly #objects: Objects;
  #waiting: Waiter[] = [];
  #busy = false;

  constructor(namespace: string, objects: Objects) {
    this.#namespace = namespace;
    this.#objects = objects;
  }

  get isIdle(): boolean {
    return !this.#busy && this.#waiting.length === 0;
  }

  charge(request: AdmissionRequest, demand: Demand): Promise<Status | undefined> {
    return new Promise((settle) => {
      this.#waiting.push({ request, demand, refusal: undefined, settle });
      if (!this.#busy) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#busy = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await this.#chargeAll(batch);
      } catch (error) {
        for (const waiter of batch) waiter.refusal ??= internalErrorStatus(String(error));
      }
      for (const waiter of batch) waiter.settle(waiter.refusal);
    }
    this.#busy = false;
  }

  async #chargeAll(batch: readonly Waiter[]): Promise<void> {
    const quotas = quotasOf(this.#objects, this.#namespace);
    // First a look at all quotas, so that nothing is charged to one that another refuses.
    for (const waiter of batch) waiter.refusal = refusalOf(waiter.request, waiter.demand, quotas);
    for (const quota of quotas) {
      const open = batch.filter(({ refusal }) => refusal === undefined);
      const costs = open.some(({ demand }) => chargeQuota(quota, demand).outcome !== "free");
      if (costs) await this.#chargeTo(quota.metadata.name!, open);
    }
  }

  async #chargeTo(name: string, waiters: readonly Waiter[]): Promise<void> {
    const charge = (draft: Draft<ResourceQuota>): undefined => {
      for (const waiter of waiters) {
        const cost = chargeQuota(draft as ResourceQuota, waiter.demand);
        waiter.refusal = cost.outcome === "refused" ? refuse(waiter.request, cost.why) : undefined;
        if (cost.outcome === "charged") draft.status.used = { ...cost.used };
      }
    };
    const kind = resourceQuotaKind;
    const result = await this.#objects.mutate(kind, this.#namespace, name, charge, "status");
    // A quota that was deleted meanwhile limits nothing.
    if (result.ok || result.status.reason === "NotFound") return;
    for (const waiter of waiters) waiter.refusal ??= result.status;
  }
}
