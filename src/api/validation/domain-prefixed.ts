/** Names with an owner's domain in front: `acme.io/foo`. */
import { invalidEach } from "./faults.ts";
import { type FieldError, invalid, required } from "./field-error.ts";
import { regexFault } from "./formats.ts";
import { isDns1123Subdomain } from "./names.ts";
import type { Path } from "./path.ts";

const HTTP_PATH_SOURCE = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const HTTP_PATH = new RegExp(`^${HTTP_PATH_SOURCE}$`);

export function validateDomainPrefixedPath(value: string, path: Path): FieldError[] {
  if (value === "") return [required(path, "")];
  const slash = value.indexOf("/");
  const domain = value.slice(0, Math.max(slash, 0));
  const rest = value.slice(slash + 1);
  if (domain === "" || rest === "") {
    return [invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  const errors = [...invalidEach(path, domain, isDns1123Subdomain(domain))];
  if (!HTTP_PATH.test(rest)) {
    errors.push(invalid(path, rest, regexFault("Invalid path", HTTP_PATH_SOURCE)));
  }
  return errors;
}
