/** Semantic versions in expressions. */
import type { Library } from "#api/cel/library.ts";
import { objectType } from "#api/cel/types/type.ts";
import { CelError, CelObject } from "#api/cel/values/value.ts";

const TYPE = objectType("kubernetes.Semver");

class SemverValue extends CelObject {
  readonly type = TYPE;
  readonly numbers: readonly bigint[];
  readonly prerelease: readonly string[];

  constructor(numbers: readonly bigint[], prerelease: readonly string[]) {
    super();
    this.numbers = numbers;
    this.prerelease = prerelease;
  }

  equals(other: CelObject): boolean {
    return other instanceof SemverValue && compareVersions(this, other) === 0;
  }
}

/** A version as a value; faults for what is none. */
export function versionAsValue(text: string): CelObject {
  return readVersion(text);
}

const S = "kubernetes.Semver";

export const semverLibrary: Library = {
  functions: {
    [`string_to_semver semver(string) -> ${S}`]: (text: string) => readVersion(text),
    [`string_bool_to_semver semver(string, bool) -> ${S}`]: (text: string, normalize: boolean) =>
      readVersion(normalize ? normalizeVersion(text) : text),
    "is_semver_string isSemver(string) -> bool": (text: string) => isVersion(text, false),
    "is_semver_string_bool isSemver(string, bool) -> bool": isVersion,
    [`semver_is_greater_than ${S}.isGreaterThan(${S}) -> bool`]: (a: SemverValue, b: SemverValue) =>
      compareVersions(a, b) > 0,
    [`semver_is_less_than ${S}.isLessThan(${S}) -> bool`]: (a: SemverValue, b: SemverValue) =>
      compareVersions(a, b) < 0,
    [`semver_compare_to ${S}.compareTo(${S}) -> int`]: (a: SemverValue, b: SemverValue) =>
      BigInt(compareVersions(a, b)),
    [`semver_major ${S}.major() -> int`]: ({ numbers }: SemverValue) => numbers[0]!,
    [`semver_minor ${S}.minor() -> int`]: ({ numbers }: SemverValue) => numbers[1]!,
    [`semver_patch ${S}.patch() -> int`]: ({ numbers }: SemverValue) => numbers[2]!,
  },
};

const VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

function readVersion(text: string): SemverValue {
  const match = VERSION.exec(text);
  const prerelease = match?.[4]?.split(".") ?? [];
  const isBad = match === null || prerelease.some((part) => /^0\d+$/.test(part));
  if (isBad) throw new CelError(versionFault(text));
  return new SemverValue(match.slice(1, 4).map(BigInt), prerelease);
}

function versionFault(text: string): string {
  if (text === "") return "Version string empty";
  const parts = text.split(".");
  if (parts.length < 3) return "No Major.Minor.Patch elements found";
  return `Invalid character(s) found in version "${text}"`;
}

function isVersion(text: string, normalize: boolean): boolean {
  try {
    readVersion(normalize ? normalizeVersion(text) : text);
    return true;
  } catch {
    return false;
  }
}

/** Without a leading v and leading zeros, with missing numbers as 0. */
function normalizeVersion(text: string): string {
  const body = text.replace(/^v/, "");
  const [first = "", second, ...rest] = body.split(".");
  const parts = [first, second, rest.length > 0 ? rest.join(".") : undefined]
    .filter((part) => part !== undefined)
    .map((part) => (part.length > 1 ? withoutLeadingZeros(part) : part));
  if (parts.length < 3 && /[+-]/.test(parts.at(-1)!)) {
    throw new CelError("short version cannot contain PreRelease/Build meta data");
  }
  while (parts.length < 3) parts.push("0");
  return parts.join(".");
}

function withoutLeadingZeros(part: string): string {
  const rest = part.replace(/^0+/, "");
  return /^\d/.test(rest) ? rest : `0${rest}`;
}

function compareVersions(a: SemverValue, b: SemverValue): number {
  for (const [i, number] of a.numbers.entries()) {
    const other = b.numbers[i]!;
    if (number !== other) return number < other ? -1 : 1;
  }
  // A release comes after its prereleases.
  if (a.prerelease.length === 0 || b.prerelease.length === 0) {
    return Math.sign(b.prerelease.length - a.prerelease.length);
  }
  for (const [i, part] of a.prerelease.entries()) {
    const other = b.prerelease[i];
    if (other === undefined) return 1;
    const order = comparePrereleases(part, other);
    if (order !== 0) return order;
  }
  return a.prerelease.length < b.prerelease.length ? -1 : 0;
}

function comparePrereleases(a: string, b: string): number {
  const [numberA, numberB] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (numberA && numberB) return BigInt(a) === BigInt(b) ? 0 : BigInt(a) < BigInt(b) ? -1 : 1;
  if (numberA !== numberB) return numberA ? -1 : 1;
  return a === b ? 0 : a < b ? -1 : 1;
}
