/**
 * The admission request: the input of every plug-in, webhook and policy. There is one builder,
 * so that all writes are described alike, with the fields of an AdmissionReview.
 */
import type { Kind, KubeObject } from "#api/kind.ts";
import type { ApiRequest, User } from "../request/request.ts";
import type { VerbRequest } from "../request/verb.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** The type of an object, and the resource through which it is written. */
export interface AdmissionTarget {
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
}

export interface AdmissionRequest<Written = KubeObject | undefined> {
  readonly operation: Operation;
  /** The resource that is written, in the stored version. `object` and `old` are in that version. */
  readonly kind: Kind;
  /** The stored version. */
  readonly stored: AdmissionTarget;
  /** An AdmissionReview's `requestKind` and `requestResource`: the version of the request's path. */
  readonly requested: AdmissionTarget;
  readonly subresource: string;
  readonly namespace: string;
  /** Empty on a create whose name is still to be generated. */
  readonly name: string;
  /** On DELETE undefined, on CONNECT the options. */
  readonly object: Written;
  /** On UPDATE and DELETE the object as it is stored. */
  readonly old: KubeObject | undefined;
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly dryRun: boolean;
  readonly user: User;
  /**
   * Its signal aborts when the client disconnects: hooks that call out over the network stop then. Most
   * writes call no such hook, and the signal is created only when it is read.
   */
  readonly client: Pick<ApiRequest, "signal">;
  /** Adds a Warning header to the answer. */
  warn(text: string): void;
  /** Adds an annotation to the audit event, if there is one and, with a level, if it has at least that. */
  readonly annotate: ((key: string, value: string, level?: "Request") => void) | undefined;
}

/** What differs from one write to another; the rest of the request is known from its verb. */
export interface AdmissionWrite<Written> {
  readonly operation: Operation;
  readonly object: Written;
  readonly old?: KubeObject | undefined;
  readonly options: Readonly<Record<string, unknown>>;
  readonly dryRun: boolean;
  /** The object's place, where the path does not say it: creates and the items of a collection. */
  readonly place?: { readonly namespace: string; readonly name: string } | undefined;
  /** The type of `object` where the sub-resource has one of its own: Scale, Eviction, PodExecOptions. */
  readonly type?: GroupVersionKind | undefined;
}

export function admissionRequest<Written>(
  verb: VerbRequest,
  write: AdmissionWrite<Written>,
): AdmissionRequest<Written> {
  const { resource, info, user, warn, annotate, request } = verb;
  const { namespace, name } = write.place ?? info;
  return {
    operation: write.operation,
    kind: resource.stored.kind,
    stored: targetOf(resource.stored.kind, write.type),
    requested: targetOf(resource.kind, write.type),
    subresource: info.subresource,
    namespace,
    name,
    object: write.object,
    old: write.old,
    options: write.options,
    dryRun: write.dryRun,
    user,
    client: request,
    warn,
    annotate,
  };
}

export function targetOf(
  { group, version, names }: Kind,
  type: GroupVersionKind = { group, version, kind: names.kind },
): AdmissionTarget {
  return { kind: type, resource: { group, version, resource: names.plural } };
}
