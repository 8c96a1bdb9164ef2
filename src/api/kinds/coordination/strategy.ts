/** How the holder of a lease is chosen among candidates. */
import { type FieldError, invalid, notSupported } from "#api/validation/field-error.ts";
import { isQualifiedName } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";

export const OLDEST_EMULATION_VERSION = "OldestEmulationVersion";

/** Names without a domain are the system's own. The odd path is the one that clients know. */
export function validateStrategy(strategy: string, path: Path): FieldError[] {
  const at = path.child("strategy");
  if (strategy.includes("/")) {
    return isQualifiedName(strategy).map((fault) => invalid(at, strategy, fault));
  }
  if (strategy === OLDEST_EMULATION_VERSION) return [];
  return [notSupported(at, strategy, [OLDEST_EMULATION_VERSION])];
}
