/** pods/NAME/binding (and the old /bindings): a scheduler assigns a pod to a node. */

import type { Binding, Pod } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft } from "#api/kind.ts";
import { findByKind } from "#api/kinds/built-in-kinds.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import {
  badRequestStatus,
  conflictStatus,
  failure,
  notFoundStatus,
  type Result,
  success,
  unknownStatus,
} from "#api/meta/status.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import { fieldErrorSteps } from "#api/validation/field-errors.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { finish } from "#lib/async/steps.ts";
import type { SpecialVerbs } from "../request/dispatch.ts";
import type { WriteOptions } from "../request/query-options.ts";
import type { VerbRequest } from "../request/verb.ts";
import type { ApiValue } from "../response/answer.ts";
import type { Objects } from "../storage/objects.ts";
import { REGISTRY } from "../storage/resources.ts";
import { preconditionFailed } from "../write/precondition-failed.ts";
import { setPodCondition } from "./pod-conditions.ts";
import { CREATED, unstoredCreate } from "./unstored-create.ts";

const PODS = { group: "", resource: "pods" };

export function bindingVerbs(objects: Objects): SpecialVerbs {
  const bind = {
    expect: () => ({
      kind: "Binding",
      group: "",
      version: "v1",
      schema: schemaOf("core.v1.Binding"),
    }),
    validate: bindingFault,
    answer: (binding: Binding, verb: VerbRequest, options: WriteOptions) =>
      assign(objects, binding, verb, options),
  };
  return {
    "/pods/binding": { create: unstoredCreate<Binding>({ ...bind, keepsMetadata: true }) },
    // As for any create, the uid in the body is ignored.
    "/bindings": { create: unstoredCreate<Binding>(bind) },
  };
}

function bindingFault(binding: Binding, { info, parts }: VerbRequest): Status | undefined {
  const { name = "" } = binding.metadata;
  if (info.name !== "" && info.name !== name) {
    return badRequestStatus("name in URL does not match name in Binding object");
  }
  const nowMs = parts.clock.nowMs();
  const found = findByKind("", "v1", "Binding")?.validate?.(binding, { nowMs });
  const faults = finish(fieldErrorSteps(found));
  if (faults.length > 0) return unknownStatus(formatFieldErrors(faults));
  return name === "" ? badRequestStatus("Name parameter required.") : undefined;
}

async function assign(
  objects: Objects,
  binding: Binding,
  { info, parts }: VerbRequest,
  { dryRun }: WriteOptions,
): Promise<Result<ApiValue>> {
  const { name = "", uid, resourceVersion } = binding.metadata;
  const nowMs = parts.clock.nowMs();
  const change = (pod: Draft<Pod>): Status | undefined => {
    const refusal =
      refuseOther(pod, { name, uid, resourceVersion, dryRun }) ?? refuseToBind(pod, name);
    if (refusal !== undefined) return refusal;
    pod.spec!.nodeName = binding.target.name ?? "";
    delete pod.status?.nominatedNodeName;
    const { annotations, labels } = binding.metadata;
    if (annotations) pod.metadata.annotations = { ...pod.metadata.annotations, ...annotations };
    if (labels) pod.metadata.labels = { ...pod.metadata.labels, ...labels };
    setPodCondition(pod, { type: "PodScheduled", status: "True" }, nowMs);
    return undefined;
  };
  if (dryRun) {
    const pod = objects.get(podKind, info.namespace, name);
    if (pod === undefined) return failure(notFoundStatus(PODS, name));
    const refusal = change(structuredClone(pod) as Draft<Pod>);
    return refusal === undefined ? success(CREATED) : failure(refusal);
  }
  const assigned = await objects.mutate(podKind, info.namespace, name, change);
  return assigned.ok ? success(CREATED) : assigned;
}

interface Wanted {
  readonly name: string;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly dryRun: boolean;
}

/** The pod must be the one that was meant. */
function refuseOther({ metadata }: Draft<Pod>, wanted: Wanted): Status | undefined {
  const { name, uid = "", resourceVersion = "", dryRun } = wanted;
  const key = `${REGISTRY}pods/${metadata.namespace}/${name}`;
  const refuse = (field: "UID" | "ResourceVersion", asked: string, there = ""): Status =>
    conflictStatus(PODS, name, preconditionFailed({ field, asked, there, key, dryRun }));
  if (uid !== "" && uid !== metadata.uid) return refuse("UID", uid, metadata.uid);
  if (resourceVersion === "" || resourceVersion === metadata.resourceVersion) return undefined;
  return refuse("ResourceVersion", resourceVersion, metadata.resourceVersion);
}

function refuseToBind({ metadata, spec }: Draft<Pod>, name: string): Status | undefined {
  const conflict = (why: string): Status =>
    conflictStatus({ group: "", resource: "pods/binding" }, name, why);
  if (metadata.deletionTimestamp !== undefined) {
    return conflict(`pod ${name} is being deleted, cannot be assigned to a host`);
  }
  if ((spec?.nodeName ?? "") !== "") {
    return conflict(`pod ${name} is already assigned to node "${spec?.nodeName}"`);
  }
  if ((spec?.schedulingGates ?? []).length > 0) {
    return conflict(`pod ${name} has non-empty .spec.schedulingGates`);
  }
  return undefined;
}
