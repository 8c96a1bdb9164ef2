/** The text of a failed precondition on uid or resourceVersion. */
import { REGISTRY } from "../storage/resources.ts";

export interface FailedPrecondition {
  readonly field: "UID" | "ResourceVersion";
  readonly asked: string;
  readonly there: string;
  /** In the store. */
  readonly key: string;
  readonly dryRun: boolean;
}

export function preconditionFailed(failed: FailedPrecondition): string {
  const { field, asked, there, key, dryRun } = failed;
  const shown = dryRun ? key.slice(REGISTRY.length - 1) : key; // as upstream's layers do
  return (
    `StorageError: invalid object, Code: 4, Key: ${shown}, ResourceVersion: 0, ` +
    `AdditionalErrorMsg: Precondition failed: ${field} in precondition: ${asked}, ${field} in object meta: ${there}`
  );
}
