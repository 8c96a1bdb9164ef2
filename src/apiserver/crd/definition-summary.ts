/** What other definitions of a group need to know of one: definitions themselves are large. */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
} from "#api/generated/apiextensions.v1.ts";
import { isTrue } from "#api/kinds/apiextensions/v1/conditions.ts";

export interface DefinitionSummary {
  readonly name: string;
  readonly group: string;
  readonly acceptedNames: CustomResourceDefinitionNames;
  readonly namesAreAccepted: boolean;
  readonly servedVersions: readonly string[];
}

export function summaryOf(definition: CustomResourceDefinition): DefinitionSummary {
  const { metadata, spec, status } = definition;
  return {
    name: metadata.name ?? "",
    group: spec.group,
    acceptedNames: status.acceptedNames,
    namesAreAccepted: isTrue(definition, "NamesAccepted"),
    servedVersions: (spec.versions ?? []).filter(({ served }) => served).map(({ name }) => name),
  };
}
