/**
 * An admission plug-in looks at a write after authorization and before it is stored.
 *
 * Promises:
 * 1. `admit` hooks (mutating) run first, one after the other in the order of the table. Then the
 *    object is prepared and validated. Then `validate` hooks run.
 * 2. No hook changes `request.object`. An `admit` hook returns the object that takes its place; the
 *    next hook sees that one. Parts that stay may be shared with the object that came in.
 * 3. A hook that refuses returns a Status. Nothing has been stored then.
 * 4. On dry runs hooks run too, but must have no effect outside the object.
 * 5. An `admit` hook may ask for a second pass over all `admit` hooks (reinvocation). There is one
 *    second pass at most, and it begins with the object that the first one ended with.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import type { MaybePromise } from "#lib/async/maybe-promise.ts";
import type { Objects } from "../storage/objects.ts";
import type { AdmissionRequest, Operation } from "./admission-request.ts";

export interface AdmissionContext {
  readonly objects: Objects;
  readonly nowMs: number;
  /** In the second pass: what each plug-in left for itself in the first one, by its name. */
  readonly reinvocation?: ReadonlyMap<string, unknown>;
}

/** Undefined: the object stays as it is. */
export type AdmitVerdict =
  | undefined
  | { readonly ok: false; readonly status: Status }
  | {
      readonly ok: true;
      readonly value: KubeObject;
      /** Have all mutating plug-ins look at the object once more. */
      readonly reinvoke?: boolean;
      /** What the plug-in wants to know again in the second pass, if there is one. */
      readonly memory?: unknown;
    };

export interface AdmissionPlugin {
  readonly name: string;
  /** The requests for which it is called; all unless given. */
  readonly operations?: readonly Operation[];
  admit?(request: AdmissionRequest, context: AdmissionContext): MaybePromise<AdmitVerdict>;
  validate?(request: AdmissionRequest, context: AdmissionContext): MaybePromise<Status | undefined>;
}
