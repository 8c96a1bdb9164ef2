/**
 * Fields that a write to a resource or sub-resource cannot change, so that it never owns them: a write
 * to an object leaves its status alone, a write to its status the rest. A kind may list more.
 */
import type { Kind } from "#api/kind.ts";
import { fieldSet } from "./field-set.ts";
import type { FieldFilter } from "./versions.ts";

/** `kind` is the stored version, `subresource` is "" for the object itself. */
export function resetFieldsOf(
  kind: Pick<Kind, "resetFields" | "subresources">,
  subresource: string,
): FieldFilter | undefined {
  const own = kind.resetFields?.[subresource];
  if (own !== undefined) return own;
  if (subresource === "status") return RESETS_SPEC;
  return subresource === "" && kind.subresources?.status !== undefined ? RESETS_STATUS : undefined;
}

export const RESETS_STATUS: FieldFilter = { except: fieldSet(["status"]) };
const RESETS_SPEC: FieldFilter = { except: fieldSet(["spec"]) };

/** For kinds whose writes to the status leave metadata alone too, custom resources among them. */
export const STATUS_RESETS_METADATA: Readonly<Record<string, FieldFilter>> = {
  status: { except: fieldSet(["metadata"], ["spec"]) },
};
