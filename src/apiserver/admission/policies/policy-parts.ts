/** What the admission policies need of the server. */

import type { ParamKind } from "#api/generated/admissionregistration.v1.ts";
import type { Namespace } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { failure, notFoundStatus, type Result, success } from "#api/meta/status.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Authorizer } from "../../authz/authorizer.ts";
import type { PolicyMetrics } from "../../metrics/policy-metrics.ts";
import type { KindRegistry } from "../../registry/kind-registry.ts";
import type { Objects } from "../../storage/objects.ts";
import type { AdmissionRequest, AdmissionTarget } from "../admission-request.ts";
import { type CompiledMatch, matchRequest } from "../matching/match-request.ts";
import type { RequestVersions } from "../matching/request-versions.ts";
import type { PolicyBinding } from "./policy-hooks.ts";
import { collectParams, findParamKind, type Params, unknownParamKind } from "./policy-params.ts";

export interface PolicyParts {
  readonly objects: Objects;
  readonly resources: KindRegistry;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly metrics: PolicyMetrics;
}

export type PolicyMatch =
  | { readonly matches: false }
  | { readonly matches: true; readonly target: AdmissionTarget }
  | { readonly matches: "unknown"; readonly error: string };

/** The policy's own constraints. */
export function matchPolicy(
  policy: { readonly match: CompiledMatch | undefined; readonly paramKind: ParamKind | undefined },
  versions: RequestVersions,
  { objects, resources }: PolicyParts,
): PolicyMatch {
  const { match, paramKind } = policy;
  if (match === undefined) {
    return { matches: "unknown", error: "policy contained no match constraints, a required field" };
  }
  const found = matchRequest(match, versions, objects, true);
  if (found.matches === "unknown") return unknown(found.status);
  if (!found.matches) return found;
  if (paramKind !== undefined && findParamKind(paramKind, resources) === undefined) {
    return { matches: "unknown", error: unknownParamKind(paramKind) };
  }
  return found;
}

/** The parameters with which a binding applies; undefined if it does not apply. */
export function paramsOfBinding(
  { match, paramRef }: PolicyBinding,
  paramKind: ParamKind | undefined,
  versions: RequestVersions,
  parts: PolicyParts,
): Params | undefined {
  if (match !== undefined) {
    const found = matchRequest(match, versions, parts.objects, true);
    if (found.matches === "unknown") return { ok: false, error: found.status.message ?? "" };
    if (!found.matches) return undefined;
  }
  return collectParams(paramKind, paramRef, versions.request.namespace, parts);
}

/** The namespace of a namespaced object. */
export function namespaceOf(
  { requested, namespace }: AdmissionRequest,
  objects: Objects,
): Result<Namespace | undefined> {
  const { group, version, kind } = requested.kind;
  const isNamespace = group === "" && version === "v1" && kind === "Namespace";
  if (namespace === "" || isNamespace) return success(undefined);
  const found = objects.get(namespaceKind, "", namespace);
  if (found !== undefined) return success(found);
  return failure(notFoundStatus({ group: "", resource: "namespaces" }, namespace));
}

function unknown({ message = "" }: Status): PolicyMatch {
  return { matches: "unknown", error: message };
}
