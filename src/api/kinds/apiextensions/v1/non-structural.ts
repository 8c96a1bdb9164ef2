/**
 * The condition NonStructuralSchema. Definitions of today cannot be created without structural schemas;
 * those that an older cluster stored with `preserveUnknownFields` may lack them.
 */
import type { CustomResourceDefinition } from "#api/generated/apiextensions.v1.ts";
import { invalid } from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import { structuralFault, validateStructural } from "../json-schema/structural.ts";
import type { Condition } from "./conditions.ts";

const type = "NonStructuralSchema";

/** Undefined if there is nothing to say. */
export function nonStructuralCondition({ spec }: CustomResourceDefinition): Condition | undefined {
  if (spec.preserveUnknownFields !== true) return undefined;
  const errors = [invalid(Path.of("spec", "preserveUnknownFields"), true, "must be false")];
  for (const [index, { name, schema }] of (spec.versions ?? []).entries()) {
    const root = schema?.openAPIV3Schema;
    if (root === undefined) continue;
    const fault = structuralFault(root);
    if (fault !== undefined) {
      const message = `failed to check validation schema for version ${name}: ${fault}`;
      return { type, status: "Unknown", reason: "StructuralError", message };
    }
    const at = Path.of("spec", "versions").index(index).child("schema", "openAPIV3Schema");
    errors.push(...validateStructural(root, at));
  }
  return { type, status: "True", reason: "Violations", message: formatFieldErrors(errors) };
}
