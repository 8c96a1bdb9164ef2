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
import type { Eventual } from "#lib/eventual.ts";
import type { Objects } from "../storage/objects.ts";
import type { AdmissionRequest, Operation } from "./admission-request.ts";

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
