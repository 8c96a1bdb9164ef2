/** In what a kind differs from others when one of its objects is deleted. */
import type { DeleteOptions } from "#api/generated/meta.v1.ts";
import type { Draft } from "#api/kind.ts";

export interface DeletionRules<T> {
  /** What becomes of dependents unless the request says; they are deleted unless given. */
  readonly garbageCollection?: "delete" | "orphan" | "unsupported";
  /** A delete answers with the object instead of a Status. */
  readonly returnsObject?: boolean;
  /** The OpenAPI documents say that a delete answers with a Status, though it returns the object. */
  readonly documentedAsStatus?: boolean;
  /** The grace period in seconds, for kinds that have one; `asked` by the request. */
  graceSeconds?(object: T, asked: number | undefined): number;
  /** Why the object of this name cannot be deleted; undefined if it can. Not for deletecollection. */
  refusal?(name: string): string | undefined;
  warnings?(options: DeleteOptions): readonly string[];
  /** What the first delete changes in the object, which stays then. Later ones go the usual way. */
  begin?(draft: Draft<T>, nowMs: number): void;
  /** Something beside its finalizers keeps the object until it is dealt with. */
  isHeld?(object: T): boolean;
  /** What else changes in an object that is being deleted. */
  mark?(draft: Draft<T>): void;
}

/** A delete answers with the object; nothing else differs. */
export const RETURNS_OBJECT: DeletionRules<unknown> = { returnsObject: true };
