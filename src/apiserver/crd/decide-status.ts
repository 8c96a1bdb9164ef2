/**
 * The status of a CustomResourceDefinition: which names it may use, whether it is served, and whether it
 * follows the rules for the community's own groups. Pure.
 */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionStatus,
} from "#api/generated/apiextensions.v1.ts";
import { approvalCondition } from "#api/kinds/apiextensions/v1/approval.ts";
import {
  type Condition,
  findCondition,
  withCondition,
  withoutCondition,
} from "#api/kinds/apiextensions/v1/conditions.ts";
import { nonStructuralCondition } from "#api/kinds/apiextensions/v1/non-structural.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { jsonEqual } from "#api/patch/json-value.ts";

/** `others`: the names of all definitions of the same group but this one. The status itself if nothing changes. */
export function decideStatus(
  definition: CustomResourceDefinition,
  others: readonly CustomResourceDefinitionNames[],
  nowMs: number,
): CustomResourceDefinitionStatus {
  const { status } = definition;
  const { acceptedNames, accepted } = decideNames(definition, others);
  const conditions = [accepted, establishedCondition(definition, accepted)];
  const approval = approvalCondition(definition);
  if (approval !== undefined) conditions.push(approval);
  const nonStructural = nonStructuralCondition(definition);
  if (nonStructural !== undefined) conditions.push(nonStructural);
  const kept =
    nonStructural === undefined ? withoutCondition(status, "NonStructuralSchema") : status;
  const next = conditions.reduce((all, one) => withCondition(all, one, nowMs), kept);
  const named = { ...next, acceptedNames };
  return jsonEqual(named, status) ? status : named;
}

function establishedCondition(
  { status }: CustomResourceDefinition,
  { status: accepted }: Condition,
): Condition {
  const old = findCondition(status, "Established");
  if (old?.status === "True") return old;
  if (accepted !== "True") {
    const message = "not all names are accepted";
    return old ?? { type: "Established", status: "False", reason: "NotAccepted", message };
  }
  return {
    type: "Established",
    status: "True",
    reason: "InitialNamesAccepted",
    message: "the initial names have been accepted",
  };
}

interface DecidedNames {
  readonly acceptedNames: CustomResourceDefinitionNames;
  readonly accepted: Condition;
}

/** A name that another definition of the group has stays with it. */
function decideNames(
  { spec, status }: CustomResourceDefinition,
  others: readonly CustomResourceDefinitionNames[],
): DecidedNames {
  const { names } = spec;
  const old = status.acceptedNames;
  const used = usedNames(others);
  let fault: { readonly reason: string; readonly message: string } | undefined;
  const conflict = (reason: string, taken: readonly string[]): boolean => {
    if (taken.length === 0) return false;
    const texts = taken.map((name) => `${goQuote(name)} is already in use`);
    fault = { reason, message: texts.length === 1 ? texts[0]! : `[${texts.join(", ")}]` };
    return true;
  };
  const choose = (field: NameField, known: ReadonlySet<string>, reason: string) => {
    const name = names[field] ?? "";
    const taken = name !== (old[field] ?? "") && known.has(name) ? [name] : [];
    return conflict(reason, taken) ? old[field] : names[field];
  };
  const plural = choose("plural", used.resources, "PluralConflict") ?? "";
  const singular = choose("singular", used.resources, "SingularConflict");
  const shortTaken = (names.shortNames ?? []).filter(
    (name) => !(old.shortNames ?? []).includes(name) && used.resources.has(name),
  );
  const shortNames = conflict("ShortNamesConflict", shortTaken) ? old.shortNames : names.shortNames;
  const kind = choose("kind", used.kinds, "KindConflict") ?? "";
  const listKind = choose("listKind", used.kinds, "ListKindConflict");
  const { categories } = names;
  const acceptedNames = {
    plural,
    ...given({ singular, shortNames }),
    kind,
    ...given({ listKind, categories }),
  };
  const accepted: Condition =
    fault === undefined
      ? {
          type: "NamesAccepted",
          status: "True",
          reason: "NoConflicts",
          message: "no conflicts found",
        }
      : { type: "NamesAccepted", status: "False", ...fault };
  return { acceptedNames, accepted };
}

type NameField = "plural" | "singular" | "kind" | "listKind";

function given<T extends object>(fields: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}

function usedNames(all: readonly CustomResourceDefinitionNames[]) {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { plural, singular = "", shortNames = [], kind, listKind = "" } of all) {
    for (const name of [plural, singular, ...(shortNames ?? [])]) resources.add(name);
    for (const name of [kind, listKind]) kinds.add(name);
  }
  for (const set of [resources, kinds]) set.delete("");
  return { resources, kinds };
}
