/** The parameter objects with which a binding has its policy evaluated. */
import type { ParamKind, ParamRef } from "#api/generated/admissionregistration.v1.ts";
import type { Kind, KubeObject } from "#api/kind.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import type { KindRegistry } from "../../registry/kind-registry.ts";
import type { Objects } from "../../storage/objects.ts";

export type Params =
  /** One evaluation for each; undefined evaluates without parameters. */
  | { readonly ok: true; readonly params: readonly (KubeObject | undefined)[] }
  | { readonly ok: false; readonly error: string };

const WITHOUT: Params = { ok: true, params: [undefined] };

export interface ParamSources {
  readonly objects: Objects;
  readonly resources: KindRegistry;
}

/** `namespace`: that of the request. */
export function collectParams(
  paramKind: ParamKind | undefined,
  reference: ParamRef | undefined,
  namespace: string,
  { objects, resources }: ParamSources,
): Params {
  if (paramKind === undefined || reference === undefined) return WITHOUT;
  const kind = findParamKind(paramKind, resources);
  if (kind === undefined) return failed(unknownParamKind(paramKind));
  const place = placeOf(kind, reference, namespace);
  if (!place.ok) return place;
  const found = find(kind, reference, place.namespace, objects);
  if (!found.ok) return found;
  if (found.params.length === 0 && reference.parameterNotFoundAction === "Deny") {
    return failed("no params found for policy binding with `Deny` parameterNotFoundAction");
  }
  return found;
}

export function findParamKind(
  { apiVersion = "", kind = "" }: ParamKind,
  resources: KindRegistry,
): Kind | undefined {
  return resources.findKind(apiVersion, kind);
}

export function unknownParamKind({ apiVersion = "", kind = "" }: ParamKind): string {
  const version = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
  return `failed to find resource referenced by paramKind: '${version}, Kind=${kind}'`;
}

function placeOf(
  { scope }: Kind,
  reference: ParamRef,
  namespace: string,
): { readonly ok: true; readonly namespace: string } | { readonly ok: false; error: string } {
  const { namespace: own = "" } = reference;
  if (scope === "Cluster") {
    if (own === "") return { ok: true, namespace: "" };
    const error = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
    return { ok: false, error };
  }
  const place = own || namespace;
  if (place !== "") return { ok: true, namespace: place };
  const error =
    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
  return { ok: false, error };
}

function find(
  kind: Kind,
  { name = "", selector }: ParamRef,
  namespace: string,
  objects: Objects,
): Params {
  if (name !== "") {
    const found = objects.get(kind, namespace, name);
    return { ok: true, params: found === undefined ? [] : [found] };
  }
  const parsed = selectorOf(selector ?? {});
  if (!parsed.ok) return failed(parsed.error);
  const all: readonly KubeObject[] = [...objects.list(kind, namespace)];
  return {
    ok: true,
    params: all.filter(({ metadata }) => matchesLabels(parsed.value, metadata.labels)),
  };
}

function failed(error: string): Params {
  return { ok: false, error };
}
