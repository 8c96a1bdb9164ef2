/** Gives pods the number that belongs to their priority class; there is one default class at most. */

import type { Pod } from "#api/generated/core.v1.ts";
import type { PriorityClass } from "#api/generated/scheduling.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { priorityClassKind } from "#api/kinds/scheduling/v1/priority-class.ts";
import { failure, success } from "#api/meta/status.ts";
import type { Objects } from "../../storage/objects.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import { withSpec } from "../changed-object.ts";
import type { AdmissionPlugin, AdmitVerdict } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { objectOfKind, oldObject } from "../requests.ts";

export const priority: AdmissionPlugin = {
  name: "Priority",
  operations: ["CREATE", "UPDATE", "DELETE"],
  admit(request, { objects }) {
    const created = objectOfKind(request, podKind, ["CREATE"]);
    if (created !== undefined) return setPriority(request, created, objects);
    const updated = objectOfKind(request, podKind, ["UPDATE"]);
    return updated && keepPriority(updated, oldObject(request, podKind));
  },
  validate(request, { objects }) {
    const added = objectOfKind(request, priorityClassKind, ["CREATE", "UPDATE"]);
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

function setPriority(request: AdmissionRequest, pod: Pod, objects: Objects): AdmitVerdict {
  const { spec } = pod;
  const forbid = (why: string): AdmitVerdict => failure(refuse(request, why));
  const wanted = spec.priorityClassName ?? "";
  const found = wanted === "" ? defaultClass(objects) : objects.get(priorityClassKind, "", wanted);
  if (wanted !== "" && found === undefined) {
    return forbid(`no PriorityClass with name ${wanted} was found`);
  }
  const value = found?.value ?? 0;
  if (spec.priority !== undefined && spec.priority !== value) {
    return forbid(
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority ` +
        `admission controller computed ${value} from the given PriorityClass name`,
    );
  }

  const policy = found === undefined ? "PreemptLowerPriority" : found.preemptionPolicy;
  if (policy !== undefined && (spec.preemptionPolicy ?? policy) !== policy) {
    return forbid(
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod ` +
        `spec; priority admission controller computed ${policy} from the given PriorityClass name`,
    );
  }
  const name = found?.metadata.name;
  return success(
    withSpec(pod, {
      ...(name === undefined ? {} : { priorityClassName: name }),
      priority: value,
      ...(policy === undefined ? {} : { preemptionPolicy: policy }),
    }),
  );
}

/** Clients that do not know the fields must not lose them. */
function keepPriority(pod: Pod, { spec: old }: Pod): AdmitVerdict {
  const { priority = old.priority, preemptionPolicy = old.preemptionPolicy } = pod.spec;
  if (priority === pod.spec.priority && preemptionPolicy === pod.spec.preemptionPolicy) return;
  return success(
    withSpec(pod, {
      ...(priority === undefined ? {} : { priority }),
      ...(preemptionPolicy === undefined ? {} : { preemptionPolicy }),
    }),
  );
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
