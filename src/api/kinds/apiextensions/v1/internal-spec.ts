/**
 * The form in which definitions are judged: what all versions have in common (schema, subresources,
 * columns, selectable fields) stands once at the top, and faults in it are reported there, as
 * `spec.validation.…` instead of `spec.versions[0].schema.…`.
 */
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  CustomResourceSubresources,
  CustomResourceValidation,
  JSONSchemaProps,
  SelectableField,
} from "#api/generated/apiextensions.v1.ts";
import { semanticEqual } from "#api/validation/immutable.ts";

interface Shared {
  readonly validation: CustomResourceValidation | undefined;
  readonly subresources: CustomResourceSubresources | undefined;
  readonly columns: readonly CustomResourceColumnDefinition[] | undefined;
  readonly selectableFields: readonly SelectableField[] | undefined;
}

export interface InternalSpec extends Shared {
  readonly spec: CustomResourceDefinitionSpec;
  /** Without what stands at the top. */
  readonly versions: readonly CustomResourceDefinitionVersion[];
}

export function internalSpec(spec: CustomResourceDefinitionSpec): InternalSpec {
  const all = spec.versions ?? [];
  const [first, ...others] = all;
  const shared = (field: SharedField): boolean =>
    first !== undefined && others.every((version) => semanticEqual(version[field], first[field]));
  const lifted = SHARED_FIELDS.filter(shared);
  const top = <Field extends SharedField>(field: Field) =>
    lifted.includes(field) ? first?.[field] : undefined;
  return {
    spec,
    versions: all.map((version) => without(version, lifted)),
    validation: top("schema"),
    subresources: top("subresources"),
    columns: top("additionalPrinterColumns"),
    selectableFields: top("selectableFields"),
  };
}

/** Every schema of the definition, each once. */
export function schemasOf({ validation, versions }: InternalSpec): JSONSchemaProps[] {
  const schemas = [validation, ...versions.map(({ schema }) => schema)];
  return schemas.flatMap((schema) => schema?.openAPIV3Schema ?? []);
}

export function schemaOfVersion(
  { spec }: InternalSpec,
  name: string,
): CustomResourceValidation | undefined {
  return (spec.versions ?? []).find((version) => version.name === name)?.schema;
}

const SHARED_FIELDS = [
  "schema",
  "subresources",
  "additionalPrinterColumns",
  "selectableFields",
] as const;
type SharedField = (typeof SHARED_FIELDS)[number];

function without(
  version: CustomResourceDefinitionVersion,
  fields: readonly SharedField[],
): CustomResourceDefinitionVersion {
  const kept = { ...version };
  for (const field of fields) delete kept[field];
  return kept;
}
