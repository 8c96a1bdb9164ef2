/** What a request wants to have written, as its verb decoded it: the input of the write path. */
import type { Draft, Kind, KubeObject, SubresourceSpec } from "#api/kind.ts";
import type { Result } from "#api/meta/status.ts";
import type { MaybePromise } from "#lib/async/maybe-promise.ts";
import type { WriteOptions } from "../request/query-options.ts";
import type { PatchType } from "./patch-document.ts";

/** The body, decoded as far as it can be without the object that is there. */
export type Change =
  /**
   * A new object, or the whole object, with its defaults. It belongs to the caller, who changes it: each
   * further attempt decodes the body again, because few writes need a second one and a copy would be made
   * for all of them.
   */
  | { readonly form: "create" | "update"; object(): MaybePromise<Draft<KubeObject>> }
  | { readonly form: "patch"; readonly type: PatchType; readonly bytes: Uint8Array }
  /** Server-side apply. */
  | { readonly form: "apply"; readonly bytes: Uint8Array };

export interface ObjectWrite {
  readonly change: Change;
  readonly options: WriteOptions;
  /** An object that is not there is created. */
  readonly mayCreate: boolean;
  /** Refuse to touch another object than the one with this uid. */
  readonly uid: string | undefined;
  /** The rules of a sub-resource whose objects are of the resource's own kind: status, finalize. */
  readonly subresource: SubresourceSpec<KubeObject> | undefined;
  /** For a sub-resource whose objects are of a kind of their own: scale. */
  readonly view?: SubresourceView;
}

/**
 * A sub-resource that shows a part of an object as an object of another kind (Scale). The change is
 * made to the view, and admission sees the view; what is stored is the object with the view put in.
 * Everything is in the version of the request.
 */
export interface SubresourceView {
  readonly kind: Kind;
  of(object: KubeObject): KubeObject;
  check(view: KubeObject, object: KubeObject): Result<undefined>;
  /** A copy of the object with what the view says. */
  into(object: KubeObject, view: KubeObject): Draft<KubeObject>;
}
