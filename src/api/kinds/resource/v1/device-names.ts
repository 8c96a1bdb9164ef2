/** Names around devices: drivers, pools, devices, requests, attributes. */
import { invalidEach } from "#api/validation/faults.ts";
import { type FieldError, invalid, required, tooLong } from "#api/validation/field-error.ts";
import { isCIdentifier, isDns1123Label, isDns1123Subdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";

const DRIVER_BYTES_MAX = 63;
const POOL_BYTES_MAX = 253;
const IDENTIFIER_BYTES_MAX = 32;
/** How much of an attribute's or capacity's name is shown in a path. */
export const QUALIFIED_NAME_BYTES_MAX = DRIVER_BYTES_MAX + 1 + IDENTIFIER_BYTES_MAX;

export function validateDriverName(name: string, path: Path): FieldError[] {
  if (name === "") return [required(path, "")];
  const errors: FieldError[] = [];
  if (utf8Length(name) > DRIVER_BYTES_MAX) errors.push(tooLong(path, DRIVER_BYTES_MAX));
  return [...errors, ...invalidEach(path, name, isDns1123Subdomain(name.toLowerCase()))];
}

/** One or more domains with slashes between them. */
export function validatePoolName(name: string, path: Path): FieldError[] {
  if (name === "") return [required(path, "")];
  const errors: FieldError[] = [];
  if (utf8Length(name) > POOL_BYTES_MAX) errors.push(tooLong(path, POOL_BYTES_MAX));
  for (const part of name.split("/")) {
    errors.push(...invalidEach(path, part, isDns1123Subdomain(part)));
  }
  return errors;
}

/** Of a device, a request, a counter or a set of counters. */
export function validateLabelName(name: string, path: Path): readonly FieldError[] {
  return invalidEach(path, name, isDns1123Label(name));
}

export function validateClassName(name: string, path: Path): readonly FieldError[] {
  if (name === "") return [required(path, "")];
  return invalidEach(path, name, isDns1123Subdomain(name));
}

/** `name` or `domain/name`. */
export function validateQualifiedName(name: string, path: Path): FieldError[] {
  const parts = name.split("/");
  if (parts.length === 1) return validateIdentifier(name, path);
  if (parts.length > 2) return [];
  const [domain = "", identifier = ""] = parts;
  return [
    ...(domain === ""
      ? [invalid(path, "", "the domain must not be empty")]
      : validateDriverName(domain, path)),
    ...(identifier === ""
      ? [invalid(path, "", "the name must not be empty")]
      : validateIdentifier(identifier, path)),
  ];
}

export function validateFullyQualifiedName(name: string, path: Path): FieldError[] {
  const errors = validateQualifiedName(name, path);
  if (name.includes("/")) return errors;
  const detail = "a fully qualified name must be a domain and a name separated by a slash";
  return [...errors, invalid(path, name, detail)];
}

function validateIdentifier(name: string, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  if (utf8Length(name) > IDENTIFIER_BYTES_MAX) errors.push(tooLong(path, IDENTIFIER_BYTES_MAX));
  return [...errors, ...invalidEach(path, name, isCIdentifier(name))];
}

const UUID = /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;
/** By length, the other forms in which a UUID may be written; none of them is wanted here. */
const OTHER_FORMS: ReadonlyMap<number, RegExp> = new Map([
  [32, /^[0-9a-fA-F]{32}$/],
  [38, /^\{[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\}$/],
  [45, /^urn:uuid:[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/i],
]);

export function validateShareId(id: string, path: Path): FieldError[] {
  const form = id.length === 36 ? UUID : OTHER_FORMS.get(id.length);
  if (!form?.test(id)) {
    const fault =
      form === undefined ? `invalid UUID length: ${utf8Length(id)}` : "invalid UUID format";
    return [invalid(path, id, `error validating uid: ${fault}`)];
  }
  if (id.length === 36 && id === id.toLowerCase()) return [];
  const detail =
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters";
  return [invalid(path, id, detail)];
}
