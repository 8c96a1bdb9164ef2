/** Names of signers: `example.com/signer-name`. */
import { goQuote } from "#api/meta/go-quote.ts";
import { type FieldError, invalid, required, tooLong } from "#api/validation/field-error.ts";
import { isDns1123Label, isDns1123Subdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";

const DOMAIN_BYTES_MAX = 253;
const SIGNER_BYTES_MAX = DOMAIN_BYTES_MAX + 1 + DOMAIN_BYTES_MAX + 63 + 1;

export function validateSignerName(name: string, path: Path): FieldError[] {
  if (name === "") return [required(path, "")];
  const [domain = "", rest, ...more] = name.split("/");
  if (rest === undefined || more.length > 0) {
    const detail =
      "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalid(path, name, detail)];
  }
  const errors: FieldError[] = [];
  if (utf8Length(domain) > DOMAIN_BYTES_MAX) errors.push(tooLong(path, DOMAIN_BYTES_MAX));
  errors.push(...firstBadLabel(domain, isDns1123Label, path));
  if (!domain.includes(".")) {
    const detail = "should be a domain with at least two segments separated by dots";
    errors.push(invalid(path, domain, detail));
  }
  errors.push(...firstBadLabel(rest, isDns1123Subdomain, path));
  if (utf8Length(name) > SIGNER_BYTES_MAX) errors.push(tooLong(path, SIGNER_BYTES_MAX));
  return errors;
}

export function isKubernetesSigner(name: string): boolean {
  const [domain = ""] = name.split("/");
  return domain === "kubernetes.io" || domain.endsWith(".kubernetes.io");
}

function firstBadLabel(text: string, check: (label: string) => string[], path: Path): FieldError[] {
  for (const label of text.split(".")) {
    const faults = check(label);
    if (faults.length === 0) continue;
    return faults.map((fault) =>
      invalid(path, text, `validating label ${goQuote(label)}: ${fault}`),
    );
  }
  return [];
}
