/**
 * How a client reaches an API server: over HTTPS, or by a direct call in the same process, with the
 * same interface. Both go through the same authentication, authorization and admission.
 *
 * Promises of every Transport:
 * 1. `send` answers with what the server answered: the object, or its Status. It rejects only if no
 *    answer can be had (`TransportError`) or the signal aborts.
 * 2. `watch` yields the server's events in order, those that came together as one array. It ends when
 *    the server ends it, yields an ERROR event if the server sends one, and throws TransportError when
 *    the connection breaks.
 * 3. Objects that come out are deeply frozen or must be treated as if they were; objects that go in
 *    are never changed or kept.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import type { Result } from "#api/meta/status.ts";

/** Just enough of a kind to address it; kinds found by discovery have no more. */
export interface ResourceRef {
  readonly group: string;
  readonly version: string;
  readonly apiVersion: string;
  readonly scope: "Namespaced" | "Cluster";
  readonly names: { readonly kind: string; readonly plural: string };
}

export type PatchType = "json" | "merge" | "strategic" | "apply";

export interface Call {
  readonly verb: "get" | "list" | "create" | "update" | "patch" | "delete" | "deletecollection";
  readonly kind: ResourceRef;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
  readonly patchType?: PatchType | undefined;
  /**
   * What the caller reads of the answer to a write that succeeds, if not all: a transport that parses
   * answers may leave out the rest.
   */
  readonly answer?: "metadata" | "nothing" | undefined;
}

export type WatchEvent<T = KubeObject> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | { readonly type: "BOOKMARK"; readonly object: KubeObject }
  | { readonly type: "ERROR"; readonly object: Status };

/** The annotation of the bookmark that ends the state with which a watch may begin. */
export const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

export interface WatchCall {
  readonly kind: ResourceRef;
  readonly namespace?: string | undefined;
  readonly query: Readonly<Record<string, string>>;
}

export interface Transport {
  send(call: Call, signal?: AbortSignal): Promise<Result<unknown>>;
  watch(call: WatchCall, signal: AbortSignal): AsyncIterable<readonly WatchEvent[]>;
  /** A path that is no resource: /version, /apis, /readyz. */
  raw(path: string, signal?: AbortSignal): Promise<Result<unknown>>;
}

/** The server could not be reached, or the connection broke before the answer was whole. */
export class TransportError extends Error {
  override readonly name = "TransportError";
}

export const METHODS: Readonly<Record<Call["verb"], string>> = {
  get: "GET",
  list: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETE",
};

export const PATCH_MEDIA_TYPES: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
};

/** `/apis/apps/v1/namespaces/ns/deployments/name/status`. */
export function pathOf(call: Omit<Call, "verb" | "query">): string {
  const { kind, namespace, name, subresource } = call;
  const root = kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope =
    kind.scope === "Namespaced" && namespace !== undefined && namespace !== ""
      ? `/namespaces/${encodeURIComponent(namespace)}`
      : "";
  const item = name === undefined ? "" : `/${encodeURIComponent(name)}`;
  const sub = subresource === undefined ? "" : `/${subresource}`;
  return `${root}${scope}/${kind.names.plural}${item}${sub}`;
}
