/** The text formats of the API: their patterns, and the words that clients match on. */

/** A text pattern and how to speak of it. */
export interface Format {
  readonly source: string;
  readonly regex: RegExp;
  readonly fault: string;
}

function format(source: string, rule: string, ...examples: readonly string[]): Format {
  return {
    source,
    regex: new RegExp(`^(?:${source})$`),
    fault: regexFault(rule, source, examples),
  };
}

/** The message for a text that does not match a pattern. */
export function regexFault(rule: string, source: string, examples: readonly string[] = []): string {
  if (examples.length === 0) return `${rule} (regex used for validation is '${source}')`;
  const quoted = examples.map((example) => `'${example}', `).join(" or ");
  return `${rule} (e.g. ${quoted}regex used for validation is '${source}')`;
}

const LABEL_SOURCE = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_SOURCE = `${LABEL_SOURCE}(\\.${LABEL_SOURCE})*`;
const RELAXED_LABEL_SOURCE = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const QUALIFIED_NAME_SOURCE = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const QUALIFIED_NAME_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

export const DNS_LABEL = format(
  LABEL_SOURCE,
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  "my-name",
  "123-abc",
);
export const DNS_SUBDOMAIN = format(
  SUBDOMAIN_SOURCE,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  "example.com",
);
export const DNS_SUBDOMAIN_WITH_UNDERSCORE = format(
  `${RELAXED_LABEL_SOURCE}(\\.${RELAXED_LABEL_SOURCE})*`,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
  "example.com",
);
export const DNS_1035_LABEL = format(
  "[a-z]([-a-z0-9]*[a-z0-9])?",
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  "my-name",
  "abc-123",
);
export const WILDCARD_SUBDOMAIN = format(
  `\\*\\.${SUBDOMAIN_SOURCE}`,
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  "*.example.com",
);
export const QUALIFIED_NAME = format(
  QUALIFIED_NAME_SOURCE,
  QUALIFIED_NAME_RULE,
  "MyName",
  "my.name",
  "123-abc",
);
export const LABEL_VALUE = format(
  `(${QUALIFIED_NAME_SOURCE})?`,
  `a valid label must be an empty string or ${QUALIFIED_NAME_RULE.slice("must ".length)}`,
  "MyValue",
  "my_value",
  "12345",
);
export const C_IDENTIFIER = format(
  "[A-Za-z_][A-Za-z0-9_]*",
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
  "my_name",
  "MY_NAME",
  "MyName",
);
export const ENV_VAR_NAME = format(
  "[-._a-zA-Z][-._a-zA-Z0-9]*",
  "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit",
  "my.env-name",
  "MY_ENV.NAME",
  "MyEnvName1",
);
export const CONFIG_MAP_KEY = format(
  "[-._a-zA-Z0-9]+",
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  "key.name",
  "KEY_NAME",
  "key-name",
);
export const HTTP_HEADER_NAME = format(
  "[-A-Za-z0-9]+",
  "a valid HTTP header must consist of alphanumeric characters or '-'",
  "X-Header-Name",
);
export const PERCENT = format(
  "[0-9]+%",
  "a valid percent string must be a numeric string followed by an ending '%'",
  "1%",
  "93%",
);

/** What is wrong with a value; nothing if it has the format. */
export function mismatch(value: string, { regex, fault }: Format): string[] {
  return regex.test(value) ? [] : [fault];
}
