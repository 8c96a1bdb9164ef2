/** The Go package in which upstream keeps its own form of a type, as messages name it. */
export function internalPackage(group: string): string {
  return PACKAGES[group] ?? group;
}

/** Events of both groups are one type. */
const PACKAGES: Readonly<Record<string, string>> = { events: "core" };
