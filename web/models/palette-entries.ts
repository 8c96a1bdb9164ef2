/** What the command palette offers for the text that was typed, the best first. Pure. */
import { type Resource, tableLink } from "./resources.ts";

export interface PaletteEntry {
  readonly title: string;
  readonly detail: string;
  readonly path: string;
}

const ENTRIES_MAX = 12;

export function paletteEntries(
  resources: readonly Resource[],
  namespace: string,
  typed: string,
): readonly PaletteEntry[] {
  const text = typed.trim().toLowerCase();
  const pages = [
    { title: "Overview", detail: "cluster", path: "/", names: ["overview", "cluster"] },
    { title: "Graph", detail: "workloads", path: "/graph", names: ["graph", "workloads"] },
  ];
  const kinds = resources.map((resource) => ({
    title: resource.kind,
    detail: [resource.plural, resource.group || "core", ...resource.shortNames].join(" · "),
    path: tableLink(resource, resource.isNamespaced ? namespace : ""),
    names: [...resource.shortNames, resource.plural, resource.kind.toLowerCase()],
  }));
  return [...pages, ...kinds]
    .map((entry) => ({ entry, rank: rankOf(entry.names, text) }))
    .filter(({ rank }) => rank < NO_MATCH)
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, ENTRIES_MAX)
    .map(({ entry: { title, detail, path } }) => ({ title, detail, path }));
}

const NO_MATCH = 3;

function rankOf(names: readonly string[], text: string): number {
  if (names.includes(text)) return 0;
  if (names.some((name) => name.startsWith(text))) return 1;
  return names.some((name) => name.includes(text)) ? 2 : NO_MATCH;
}
