/** Which names the CustomResourceDefinitions of each group use. A change costs the same however many there are. */
import type { CustomResourceDefinitionNames } from "#api/generated/apiextensions.v1.ts";
import type { DefinitionSummary } from "./definition-summary.ts";

/** The names that other definitions of the group use. */
export interface UsedNames {
  /** Plural, singular and short names. */
  hasResource(name: string): boolean;
  /** Kinds of objects and of lists. */
  hasKind(name: string): boolean;
}

interface Group {
  readonly summaries: Map<string, DefinitionSummary>;
  /** How many definitions use the name. */
  readonly resources: Map<string, number>;
  readonly kinds: Map<string, number>;
}

export class DefinitionGroups {
  readonly #groups = new Map<string, Group>();
  readonly #groupOf = new Map<string, string>();

  set(summary: DefinitionSummary): void {
    this.delete(summary.name);
    const { group: groupName } = summary;
    const group = this.#groups.get(groupName) ?? {
      summaries: new Map(),
      resources: new Map(),
      kinds: new Map(),
    };
    this.#groups.set(groupName, group);
    this.#groupOf.set(summary.name, groupName);
    group.summaries.set(summary.name, summary);
    count(group, summary.acceptedNames, 1);
  }

  delete(name: string): void {
    const groupName = this.#groupOf.get(name) ?? "";
    const group = this.#groups.get(groupName);
    const summary = group?.summaries.get(name);
    if (group === undefined || summary === undefined) return;
    this.#groupOf.delete(name);
    group.summaries.delete(name);
    count(group, summary.acceptedNames, -1);
    if (group.summaries.size === 0) this.#groups.delete(groupName);
  }

  inGroup(groupName: string): Iterable<DefinitionSummary> {
    return this.#groups.get(groupName)?.summaries.values() ?? [];
  }

  /** All but those of the definition itself. */
  usedByOthers(groupName: string, definitionName: string): UsedNames {
    const group = this.#groups.get(groupName);
    const own = group?.summaries.get(definitionName)?.acceptedNames;
    const ownResources = own === undefined ? [] : resourceNames(own);
    const ownKinds = own === undefined ? [] : kindNames(own);
    return {
      hasResource: (name) => (group?.resources.get(name) ?? 0) > timesIn(ownResources, name),
      hasKind: (name) => (group?.kinds.get(name) ?? 0) > timesIn(ownKinds, name),
    };
  }
}

function count(
  { resources, kinds }: Group,
  names: CustomResourceDefinitionNames,
  by: 1 | -1,
): void {
  for (const name of resourceNames(names)) add(resources, name, by);
  for (const name of kindNames(names)) add(kinds, name, by);
}

function add(counts: Map<string, number>, name: string, by: number): void {
  const next = (counts.get(name) ?? 0) + by;
  if (next === 0) counts.delete(name);
  else counts.set(name, next);
}

function resourceNames({ plural, singular, shortNames }: CustomResourceDefinitionNames): string[] {
  return [plural, singular ?? "", ...(shortNames ?? [])].filter((name) => name !== "");
}

function kindNames({ kind, listKind }: CustomResourceDefinitionNames): string[] {
  return [kind, listKind ?? ""].filter((name) => name !== "");
}

function timesIn(names: readonly string[], name: string): number {
  return names.filter((one) => one === name).length;
}
