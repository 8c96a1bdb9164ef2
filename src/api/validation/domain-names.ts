/** Domain names, and names and paths that begin with one. */
import { type FieldError, invalid, required } from "./field-error.ts";
import { isDns1123Label, isDns1123Subdomain } from "./names.ts";
import type { Path } from "./path.ts";

/** At least two labels; a dot at the end is fine. */
export function validateFullyQualifiedDomainName(name: string, path: Path): FieldError[] {
  if (name === "") return [required(path, "")];
  const plain = name.endsWith(".") ? name.slice(0, -1) : name;
  const faults = isDns1123Subdomain(plain);
  if (faults.length > 0) return [invalid(path, plain, faults.join(","))];
  const labels = plain.split(".");
  if (labels.length < 2) {
    const detail = "should be a domain with at least two segments separated by dots";
    return [invalid(path, plain, detail)];
  }
  for (const label of labels) {
    const labelFaults = isDns1123Label(label);
    if (labelFaults.length > 0) return [invalid(path, label, labelFaults.join(","))];
  }
  return [];
}
