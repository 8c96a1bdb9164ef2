/**
 * What a name, key or label may look like. Each `is…` function returns the faults of a value, one
 * message each in the words that clients match on; an empty list means that the value is fine.
 * Lengths are counted in UTF-8 bytes.
 *
 * The `name…` rules and `pathSegmentName` are NameRules of kinds: with `prefix` set they judge a
 * generateName, to which a random tail will be added.
 */
import type { NameRule } from "#api/kind.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import {
  C_IDENTIFIER,
  CONFIG_MAP_KEY,
  DNS_1035_LABEL,
  DNS_LABEL,
  DNS_SUBDOMAIN,
  DNS_SUBDOMAIN_WITH_UNDERSCORE,
  ENV_VAR_NAME,
  HTTP_HEADER_NAME,
  LABEL_VALUE,
  mismatch,
  PERCENT,
  QUALIFIED_NAME,
  WILDCARD_SUBDOMAIN,
} from "./formats.ts";

const DNS_LABEL_MAX = 63;
const DNS_SUBDOMAIN_MAX = 253;
const LABEL_MAX = 63;
const PORT_NAME_MAX = 15;
/** The most that one unit of a string takes in UTF-8. */
const UTF8_BYTES_MAX = 3;
export const ID_MAX = 2 ** 31 - 1;

export function isDns1123Label(value: string): string[] {
  const faults = longerThan(value, DNS_LABEL_MAX, "characters");
  if (!DNS_LABEL.regex.test(value)) {
    faults.push(DNS_SUBDOMAIN.regex.test(value) ? "must not contain dots" : DNS_LABEL.fault);
  }
  return faults;
}

export function isDns1123Subdomain(value: string): string[] {
  const faults = longerThan(value, DNS_SUBDOMAIN_MAX, "characters");
  if (!DNS_SUBDOMAIN.regex.test(value)) faults.push(DNS_SUBDOMAIN.fault);
  return faults;
}

export function isDns1123SubdomainWithUnderscore(value: string): string[] {
  return [
    ...longerThan(value, DNS_SUBDOMAIN_MAX, "characters"),
    ...mismatch(value, DNS_SUBDOMAIN_WITH_UNDERSCORE),
  ];
}

/** As `isDns1123Label`, in the words of rules that are declared on a type. */
export function isShortName(value: string): string[] {
  return isDns1123Label(value).map(inBytes);
}

/** As `isDns1123Subdomain`, in the words of rules that are declared on a type. */
export function isLongName(value: string): string[] {
  return isDns1123Subdomain(value).map(inBytes);
}

export function isDns1035Label(value: string): string[] {
  return [...longerThan(value, DNS_LABEL_MAX, "characters"), ...mismatch(value, DNS_1035_LABEL)];
}

export function isWildcardDns1123Subdomain(value: string): string[] {
  return [
    ...longerThan(value, DNS_SUBDOMAIN_MAX, "characters"),
    ...mismatch(value, WILDCARD_SUBDOMAIN),
  ];
}

/** A label or annotation key, a finalizer, a resource name: `name` or `example.com/name`. */
export function isQualifiedName(value: string): string[] {
  if (value.length <= LABEL_MAX && QUALIFIED_NAME.regex.test(value)) return [];
  const parts = value.split("/");
  if (parts.length > 2) {
    return [
      `a valid label key ${QUALIFIED_NAME.fault} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const faults: string[] = [];
  const name = parts.at(-1)!;
  if (parts.length === 2) {
    const prefix = parts[0]!;
    if (prefix === "") faults.push("prefix part must be non-empty");
    else {
      for (const fault of longerThan(prefix, DNS_SUBDOMAIN_MAX, "bytes")) {
        faults.push(`prefix part ${fault}`);
      }
      if (!DNS_SUBDOMAIN.regex.test(prefix)) faults.push(`prefix part ${DNS_SUBDOMAIN.fault}`);
    }
  }
  if (name === "") faults.push("name part must be non-empty");
  for (const fault of longerThan(name, LABEL_MAX, "bytes")) faults.push(`name part ${fault}`);
  if (!QUALIFIED_NAME.regex.test(name)) faults.push(`name part ${QUALIFIED_NAME.fault}`);
  return faults;
}

export function isLabelValue(value: string): string[] {
  const faults = longerThan(value, LABEL_MAX, "bytes");
  if (!LABEL_VALUE.regex.test(value)) faults.push(LABEL_VALUE.fault);
  return faults;
}

export function isCIdentifier(value: string): string[] {
  return mismatch(value, C_IDENTIFIER);
}

export function isEnvVarName(value: string): string[] {
  return [...mismatch(value, ENV_VAR_NAME), ...leavesFolder(value)];
}

/** Any printable ASCII but '='. */
export function isRelaxedEnvVarName(value: string): string[] {
  if (value === "") return ["environment variable name must be non-empty"];
  return /^[ -<>-~]*$/.test(value)
    ? []
    : [
        "a valid environment variable name must consist only of printable ASCII characters other than '='",
      ];
}

/** A key of a ConfigMap or Secret: it becomes a file name. */
export function isConfigMapKey(value: string): string[] {
  return [
    ...longerThan(value, DNS_SUBDOMAIN_MAX, "characters"),
    ...mismatch(value, CONFIG_MAP_KEY),
    ...leavesFolder(value),
  ];
}

export function isHttpHeaderName(value: string): string[] {
  return mismatch(value, HTTP_HEADER_NAME);
}

export function isPercent(value: string): string[] {
  return mismatch(value, PERCENT);
}

export function isPortName(value: string): string[] {
  const faults = longerThan(value, PORT_NAME_MAX, "characters");
  if (!/^[-a-z0-9]+$/.test(value)) {
    faults.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!/[a-z]/.test(value)) faults.push("must contain at least one letter (a-z)");
  if (value.includes("--")) faults.push("must not contain consecutive hyphens");
  if (value.startsWith("-") || value.endsWith("-")) {
    faults.push("must not begin or end with a hyphen");
  }
  return faults;
}

export function isPortNumber(port: number): string[] {
  return isInRange(port, 1, 65535);
}

/** A numeric user or group id. */
export function isUnixId(id: number): string[] {
  return isInRange(id, 0, ID_MAX);
}

export function isInRange(value: number, min: number, max: number): string[] {
  return value >= min && value <= max ? [] : [`must be between ${min} and ${max}, inclusive`];
}

/** May stand in a URL path as one segment. */
export function isPathSegmentName(value: string): string[] {
  if (value === "." || value === "..") return [`may not be '${value}'`];
  return isPathSegmentPrefix(value);
}

export const nameIsDnsSubdomain: NameRule = (name, prefix) =>
  isDns1123Subdomain(prefix ? maskTrailingDash(name) : name);

/** A name that is declared to be long; of what it starts with, only that it fits a path. */
export const nameIsLongName: NameRule = (name, prefix) =>
  prefix ? isPathSegmentPrefix(name) : isLongName(name);

export const nameIsDnsLabel: NameRule = (name, prefix) =>
  isDns1123Label(prefix ? maskTrailingDash(name) : name);

export const nameIsDns1035Label: NameRule = (name, prefix) =>
  isDns1035Label(prefix ? maskTrailingDash(name) : name);

export const pathSegmentName: NameRule = (name, prefix) =>
  prefix ? isPathSegmentPrefix(name) : isPathSegmentName(name);

function isPathSegmentPrefix(value: string): string[] {
  const faults: string[] = [];
  if (value.includes("/")) faults.push("may not contain '/'");
  if (value.includes("%")) faults.push("may not contain '%'");
  return faults;
}

/** A prefix may end in a dash, since the random tail follows it. */
function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name;
}

function longerThan(value: string, max: number, unit: "characters" | "bytes"): string[] {
  if (value.length * UTF8_BYTES_MAX <= max || utf8Length(value) <= max) return [];
  return [`must be no more than ${max} ${unit}`];
}

function inBytes(fault: string): string {
  return fault.replace(/^(must be no more than \d+) characters$/, "$1 bytes");
}

function leavesFolder(value: string): string[] {
  if (value === "." || value === "..") return [`must not be '${value}'`];
  return value.startsWith("..") ? ["must not start with '..'"] : [];
}
