/** The claim that is made together with a pod: of its metadata only labels and annotations count. */

import type {
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimTemplate,
} from "#api/generated/core.v1.ts";
import { validateClaimSpec } from "#api/kinds/core/v1/persistent-volume-claim/spec.ts";
import { isWhole } from "#api/kinds/core/v1/resources/resource-lists.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { quantityOf } from "#api/meta/quantity.ts";
import { type FieldError, forbidden } from "#api/validation/field-error.ts";
import { validateAnnotations, validateLabels } from "#api/validation/labels.ts";
import type { Path } from "#api/validation/path.ts";

export function validateClaimTemplate(
  { metadata = {}, spec }: PersistentVolumeClaimTemplate,
  path: Path,
  errors: FieldError[],
): void {
  const at = path.child("metadata");
  errors.push(...validateAnnotations(metadata.annotations, at.child("annotations")));
  errors.push(...validateLabels(metadata.labels, at.child("labels")));
  for (const [field, value] of Object.entries(metadata)) {
    if (field === "annotations" || field === "labels" || value === null) continue;
    errors.push(forbidden(at.child(field === "uid" ? "uID" : field), "cannot be set"));
  }
  errors.push(...validateClaimSpec(spec, {}, path.child("spec")));
}

export function claimSpecWarnings({ resources }: PersistentVolumeClaimSpec, path: Path): string[] {
  return (["requests", "limits"] as const).flatMap((field) => {
    const amount = resources?.[field]?.storage;
    if (amount === undefined || isWhole(quantityOf(amount))) return [];
    const at = path.child("resources", field).key("storage");
    return [`${at}: fractional byte value ${goQuote(amount)} is invalid, must be an integer`];
  });
}
