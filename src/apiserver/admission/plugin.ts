/**
 * An admission plug-in looks at a write after authorization and before it is stored.
 *
 * Promises:
 * 1. `admit` hooks run first, in the order of the table, and may change `object`; then the object is
 *    validated; then `validate` hooks run, which may not.
 * 2. A hook refuses by returning a Status. Nothing has been stored then.
 * 3. On dry runs hooks run too, but must have no effect outside the object.
 * 4. On DELETE `object` is undefined; on CONNECT it holds the options.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft, Kind, KubeObject } from "#api/kind.ts";
import type { Eventual } from "#lib/eventual.ts";
import type { User } from "../request/request.ts";
import type { Objects } from "../storage/objects.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

export interface AdmissionRequest {
  readonly operation: Operation;
  readonly kind: Kind;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly object: Draft<KubeObject> | undefined;
  readonly old: KubeObject | undefined;
  /** CreateOptions, UpdateOptions, DeleteOptions. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly dryRun: boolean;
  readonly user: User;
  /** Adds a Warning header to the answer. */
  warn(text: string): void;
  /** Adds a note to the audit log's entry, if there is one. */
  annotate?(key: string, value: string): void;
}

export interface AdmissionContext {
  readonly objects: Objects;
  readonly nowMs: number;
}

type Verdict = Eventual<Status | undefined>;

export interface AdmissionPlugin {
  readonly name: string;
  /** It is asked about these only; about all unless given. */
  readonly operations?: readonly Operation[];
  admit?(request: AdmissionRequest, context: AdmissionContext): Verdict;
  validate?(request: AdmissionRequest, context: AdmissionContext): Verdict;
}
