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
import type { UsedNames } from "./definition-groups.ts";

/** The status itself if nothing changes. */
export function decideStatus(
  definition: CustomResourceDefinition,
  used: UsedNames,
  nowMs: number,
): CustomResourceDefinitionStatus {
  const { status } = definition;
  const { acceptedNames, accepted } = decideNames(definition, used);
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
function decideNames({ spec, status }: CustomResourceDefinition, used: UsedNames): DecidedNames {
  const { names } = spec;
  const old = status.acceptedNames;
  let fault: { readonly reason: string; readonly message: string } | undefined;
  const conflict = (reason: string, taken: readonly string[]): boolean => {
    if (taken.length === 0) return false;
    const texts = taken.map((name) => `${goQuote(name)} is already in use`);
    fault = { reason, message: texts.length === 1 ? texts[0]! : `[${texts.join(", ")}]` };
    return true;
  };
  const choose = (field: NameField, isUsed: (name: string) => boolean, reason: string) => {
    const name = names[field] ?? "";
    const taken = name !== (old[field] ?? "") && isUsed(name) ? [name] : [];
    return conflict(reason, taken) ? old[field] : names[field];
  };
  const plural = choose("plural", used.hasResource, "PluralConflict") ?? "";
  const singular = choose("singular", used.hasResource, "SingularConflict");
  const shortTaken = (names.shortNames ?? []).filter(
    (name) => !(old.shortNames ?? []).includes(name) && used.hasResource(name),
  );
  const shortNames = conflict("ShortNamesConflict", shortTaken) ? old.shortNames : names.shortNames;
  const kind = choose("kind", used.hasKind, "KindConflict") ?? "";
  const listKind = choose("listKind", used.hasKind, "ListKindConflict");
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
