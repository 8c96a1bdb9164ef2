/** A Service that cannot have what it asks for. */
import type { Service } from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import { failure, invalidStatus, type Result } from "#api/meta/status.ts";
import type { FieldError } from "#api/validation/field-error.ts";

export function refused(
  { metadata }: Pick<Draft<Service>, "metadata">,
  faults: readonly FieldError[],
): Result<never> {
  return failure(invalidStatus({ group: "", kind: "Service" }, metadata.name ?? "", faults));
}
