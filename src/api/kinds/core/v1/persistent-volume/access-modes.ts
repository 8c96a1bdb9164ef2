/** How a volume may be mounted: rules that volumes and claims share, and the text of a cell. */
import { type FieldError, forbidden, invalid, notSupported } from "#api/validation/field-error.ts";
import { isDns1123Subdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";

const SHORT_NAMES: ReadonlyMap<string, string> = new Map([
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
]);
const ACCESS_MODES = [...SHORT_NAMES.keys()].sort();
const VOLUME_MODES = ["Block", "Filesystem"];

export const STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class";

export function validateAccessModes(modes: readonly string[], path: Path): FieldError[] {
  const errors: FieldError[] = modes
    .filter((mode) => !SHORT_NAMES.has(mode))
    .map((mode) => notSupported(path, mode, ACCESS_MODES));
  const known = new Set(modes.filter((mode) => SHORT_NAMES.has(mode)));
  if (known.has("ReadWriteOncePod") && known.size > 1) {
    errors.push(forbidden(path, "may not use ReadWriteOncePod with other access modes"));
  }
  return errors;
}

export function validateVolumeMode(mode: string | undefined, path: Path): FieldError[] {
  if (mode === undefined || VOLUME_MODES.includes(mode)) return [];
  return [notSupported(path, mode, VOLUME_MODES)];
}

export function validateClassName(name: string, path: Path): FieldError[] {
  return isDns1123Subdomain(name).map((fault) => invalid(path, name, fault));
}

/** `RWO,ROX` */
export function accessModesText(modes: readonly string[] | undefined): string {
  const given = new Set(modes);
  return [...SHORT_NAMES].flatMap(([mode, short]) => (given.has(mode) ? short : [])).join(",");
}
