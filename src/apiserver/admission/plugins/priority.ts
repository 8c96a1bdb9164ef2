/** Gives pods the number that belongs to their priority class; there is one default class at most. */

import type { Pod } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import type { PriorityClass } from "#api/generated/scheduling.v1.ts";
import type { Draft } from "#api/kind.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { priorityClassKind } from "#api/kinds/scheduling/v1/priority-class.ts";
import type { Objects } from "../../storage/objects.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { draftOf, oldObject } from "../requests.ts";

export const priority: AdmissionPlugin = {
  name: "Priority",
  operations: ["CREATE", "UPDATE", "DELETE"],
  admit(request, { objects }) {
    const created = draftOf(request, podKind, ["CREATE"]);
    if (created !== undefined) return setPriority(request, created, objects);
    const updated = draftOf(request, podKind, ["UPDATE"]);
    if (updated !== undefined) keepPriority(updated, oldObject(request, podKind));
    return undefined;
  },
  validate(request, { objects }) {
    const added = draftOf(request, priorityClassKind, ["CREATE", "UPDATE"]);
    if (added?.globalDefault !== true) return;
    const current = defaultClass(objects);
    if (current === undefined) return;
    const { name } = current.metadata;
    if (request.operation === "UPDATE" && name === added.metadata.name) return;
    return refuse(
      request,
      `PriorityClass ${name} is already marked as default. Only one default can exist`,
    );
  },
};

function setPriority(
  request: AdmissionRequest,
  { spec }: Draft<Pod>,
  objects: Objects,
): Status | undefined {
  const wanted = spec.priorityClassName ?? "";
  const found = wanted === "" ? defaultClass(objects) : objects.get(priorityClassKind, "", wanted);
  if (wanted !== "" && found === undefined) {
    return refuse(request, `no PriorityClass with name ${wanted} was found`);
  }
  if (found?.metadata.name !== undefined) spec.priorityClassName = found.metadata.name;
  const value = found?.value ?? 0;
  if (spec.priority !== undefined && spec.priority !== value) {
    return refuse(
      request,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority ` +
        `admission controller computed ${value} from the given PriorityClass name`,
    );
  }
  spec.priority = value;

  const policy = found === undefined ? "PreemptLowerPriority" : found.preemptionPolicy;
  if (policy === undefined) return undefined;
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
    return refuse(
      request,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod ` +
        `spec; priority admission controller computed ${policy} from the given PriorityClass name`,
    );
  }
  spec.preemptionPolicy = policy;
  return undefined;
}

/** Clients that do not know the fields must not lose them. */
function keepPriority({ spec }: Draft<Pod>, { spec: old }: Pod): void {
  if (spec.priority === undefined && old.priority !== undefined) spec.priority = old.priority;
  if (spec.preemptionPolicy === undefined && old.preemptionPolicy !== undefined) {
    spec.preemptionPolicy = old.preemptionPolicy;
  }
}

/** Two defaults can only come from a race; the lower one counts then. */
function defaultClass(objects: Objects): PriorityClass | undefined {
  let lowest: PriorityClass | undefined;
  for (const one of objects.list(priorityClassKind)) {
    if (one.globalDefault === true && (lowest === undefined || one.value < lowest.value)) {
      lowest = one;
    }
  }
  return lowest;
}
