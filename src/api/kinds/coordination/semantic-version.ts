/** Versions in the form of semver.org, compared by its rules. */
export interface SemanticVersion {
  readonly numbers: readonly [number, number, number];
  readonly prerelease: readonly string[];
}

const NUMBER = "(?:0|[1-9][0-9]*)";
const IDENTIFIER = `(?:${NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)`;
const FORMAT = new RegExp(
  `^(${NUMBER})\\.(${NUMBER})\\.(${NUMBER})(?:-(${IDENTIFIER}(?:\\.${IDENTIFIER})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
);

export function parseSemanticVersion(text: string): SemanticVersion | undefined {
  const match = FORMAT.exec(text);
  if (match === null) return undefined;
  const [, major, minor, patch, prerelease] = match;
  return {
    numbers: [Number(major), Number(minor), Number(patch)],
    prerelease: prerelease?.split(".") ?? [],
  };
}

/** Negative, zero or positive, as a sort function wants it. */
export function compareSemanticVersions(a: SemanticVersion, b: SemanticVersion): number {
  for (const [i, number] of a.numbers.entries()) {
    if (number !== b.numbers[i]) return number - b.numbers[i]!;
  }
  // A version comes after its own prereleases.
  if (a.prerelease.length === 0 || b.prerelease.length === 0) {
    return Number(a.prerelease.length === 0) - Number(b.prerelease.length === 0);
  }
  for (const [i, identifier] of a.prerelease.entries()) {
    const other = b.prerelease[i];
    if (other === undefined) return 1;
    const order = compareIdentifiers(identifier, other);
    if (order !== 0) return order;
  }
  return a.prerelease.length - b.prerelease.length;
}

function compareIdentifiers(a: string, b: string): number {
  const [aIsNumber, bIsNumber] = [/^[0-9]+$/.test(a), /^[0-9]+$/.test(b)];
  if (aIsNumber && bIsNumber) return Number(a) - Number(b);
  if (aIsNumber !== bIsNumber) return aIsNumber ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
