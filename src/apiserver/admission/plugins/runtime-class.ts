/** Adds to pods what their runtime class needs: overhead, node selector, tolerations. */
import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import type { Pod, ResourceList } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import type { RuntimeClass } from "#api/generated/node.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { compareAmounts } from "#api/kinds/core/v1/resources/resource-lists.ts";
import { runtimeClassKind } from "#api/kinds/node/v1/runtime-class.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { failure, success, unknownStatus } from "#api/meta/status.ts";
import type { Objects } from "../../storage/objects.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import { withSpec } from "../changed-object.ts";
import type { AdmissionPlugin, AdmitVerdict } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { objectOfKind } from "../requests.ts";
import { invalidPathName } from "./invalid-path-name.ts";
import { mergeTolerations } from "./merge-tolerations.ts";

const MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

export const runtimeClass: AdmissionPlugin = {
  name: "RuntimeClass",
  operations: ["CREATE"],
  admit(request, { objects }) {
    const pod = objectOfKind(request, podKind, ["CREATE"]);
    if (pod === undefined) return;
    const found = classOf(request, pod, objects);
    if (found === undefined) return;
    if ("status" in found) return failure(found.status);
    const { overhead, scheduling } = found.runtimeClass;
    const fixed = overhead?.podFixed;
    if (overhead !== undefined) {
      const given = pod.spec.overhead ?? {};
      if (Object.keys(given).length > 0 && !sameAmounts(given, fixed ?? {})) {
        return failure(refuse(request, MISMATCH));
      }
    }
    const loaded = fixed === undefined ? pod : withSpec(pod, { overhead: { ...fixed } });
    return scheduling === undefined ? success(loaded) : addScheduling(request, loaded, scheduling);
  },
  validate(request, { objects }) {
    const pod = objectOfKind(request, podKind, ["CREATE"]);
    if (pod === undefined) return;
    const found = classOf(request, pod, objects);
    if (found !== undefined && "status" in found) return found.status;
    const overhead = found?.runtimeClass.overhead;
    if (overhead !== undefined) {
      const same = sameAmounts(pod.spec.overhead ?? {}, overhead.podFixed ?? {});
      return same ? undefined : refuse(request, MISMATCH);
    }
    if (pod.spec.overhead === undefined && !isEmptyCollection(pod.spec, "overhead")) return;
    return refuse(
      request,
      "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
    );
  },
};

function classOf(
  request: AdmissionRequest,
  { spec }: Pod,
  objects: Objects,
): { readonly runtimeClass: RuntimeClass } | { readonly status: Status } | undefined {
  const name = spec.runtimeClassName;
  if (name === undefined) return undefined;
  const fault = invalidPathName(name);
  if (fault !== undefined) return { status: unknownStatus(fault) };
  const found = objects.get(runtimeClassKind, "", name);
  if (found !== undefined) return { runtimeClass: found };
  return { status: refuse(request, `pod rejected: RuntimeClass ${goQuote(name)} not found`) };
}

function addScheduling(
  request: AdmissionRequest,
  pod: Pod,
  { nodeSelector = {}, tolerations = [] }: NonNullable<RuntimeClass["scheduling"]>,
): AdmitVerdict {
  const { spec } = pod;
  const merged: Record<string, string> = { ...spec.nodeSelector };
  for (const [key, value] of Object.entries(nodeSelector)) {
    const given = merged[key];
    if (given !== undefined && given !== value) {
      const why =
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; ` +
        `pod.spec.nodeSelector[${key}] = ${given}`;
      return failure(refuse(request, why));
    }
    merged[key] = value;
  }
  const all = mergeTolerations([...(spec.tolerations ?? []), ...tolerations]);
  return success(
    withSpec(pod, {
      ...(Object.keys(merged).length > 0 ? { nodeSelector: merged } : {}),
      ...(all.length > 0 ? { tolerations: all.map((one) => ({ ...one })) } : {}),
    }),
  );
}

function sameAmounts(a: ResourceList, b: ResourceList): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => {
    const [left, right] = [a[name], b[name]];
    return left !== undefined && right !== undefined && compareAmounts(left, right) === 0;
  });
}
