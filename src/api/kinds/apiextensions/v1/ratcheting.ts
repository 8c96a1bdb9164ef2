/** What an update of a definition goes on accepting because the stored definition has it. */
import type {
  CustomResourceDefinition,
  CustomResourceValidation,
} from "#api/generated/apiextensions.v1.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { Path } from "#api/validation/path.ts";
import { knowsReviewVersion } from "#api/validation/review-versions.ts";
import { bytesOfBase64, parsePem } from "#lib/der/pem.ts";
import { hasUnprunedDefault } from "../json-schema/defaults.ts";
import { structuralFault, validateStructural } from "../json-schema/structural.ts";
import { someSchema } from "../json-schema/walk.ts";
import { type InternalSpec, internalSpec, schemaOfVersion, schemasOf } from "./internal-spec.ts";
import { isSetOfNonAtomic, validateMapListKeys } from "./list-type-rules.ts";
import { hasUnknownType, type SchemaOptions } from "./schema-rules.ts";
import { SELECTABLE_FIELDS_MAX } from "./version-rules.ts";

export interface DefinitionOptions extends SchemaOptions {
  readonly requireKnownReviewVersion: boolean;
  readonly requireImmutableNames: boolean;
  readonly requireSchema: boolean;
  readonly requireStructural: boolean;
  readonly requirePrunedDefaults: boolean;
  readonly requireValidCaBundle: boolean;
  readonly storedRules: ReadonlySet<string>;
  readonly storedMessageExpressions: ReadonlySet<string>;
  /** The schema of this version is what it was; "" asks for the common one. */
  isSchemaUnchanged(version: string): boolean;
  /** The version ("": all of them) had more selectable fields than are allowed now. */
  allowsTooManyFields(version: string): boolean;
}

export const NEW_DEFINITION: DefinitionOptions = {
  requireKnownReviewVersion: true,
  requireImmutableNames: false,
  requireSchema: true,
  requireStructural: true,
  requirePrunedDefaults: true,
  requireKnownTypes: true,
  requireAtomicSetItems: true,
  requireMapListKeys: true,
  requireValidCaBundle: false,
  storedRules: new Set(),
  storedMessageExpressions: new Set(),
  isSchemaUnchanged: () => false,
  allowsTooManyFields: () => false,
};

export function updateOptions(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition,
): DefinitionOptions {
  const before = internalSpec(old.spec);
  const now = internalSpec(definition.spec);
  const schemas = schemasOf(before);
  const reviewVersions = old.spec.conversion?.webhook?.conversionReviewVersions ?? [];
  const isEstablished = (old.status.conditions ?? []).some(
    ({ type, status }) => type === "Established" && status === "True",
  );
  const readable = (schema: (typeof schemas)[number]) =>
    structuralFault(schema) === undefined && validateStructural(schema, Path.of("")).length === 0;
  return {
    requireKnownReviewVersion: reviewVersions.length === 0 || knowsReviewVersion(reviewVersions),
    requireImmutableNames: isEstablished,
    requireSchema: hasAllSchemas(before),
    requireStructural: schemas.every(readable),
    requirePrunedDefaults: !schemas.some((s) => readable(s) && hasUnprunedDefault(s)),
    requireKnownTypes: !schemas.some(hasUnknownType),
    requireAtomicSetItems: !schemas.some((schema) => someSchema(schema, isSetOfNonAtomic)),
    requireMapListKeys: !schemas.some((schema) =>
      someSchema(schema, (part) => validateMapListKeys(part, Path.of("")).length > 0),
    ),
    requireValidCaBundle: isEstablished && !hasInvalidCaBundle(old),
    ...storedExpressions(before),
    isSchemaUnchanged: (version) => {
      const name = version === "" ? (now.versions[0]?.name ?? "") : version;
      return sameSchema(schemaOfVersion(now, name), schemaOfVersion(before, name));
    },
    allowsTooManyFields: (version) => {
      const fieldsOf = (internal: InternalSpec) =>
        version === ""
          ? internal.selectableFields
          : internal.versions.find(({ name }) => name === version)?.selectableFields;
      const fields = fieldsOf(before) ?? [];
      return fields.length > SELECTABLE_FIELDS_MAX && semanticEqual(fields, fieldsOf(now));
    },
  };
}

function hasAllSchemas({ validation, versions }: InternalSpec): boolean {
  if (validation?.openAPIV3Schema !== undefined) return true;
  return versions.every(({ schema }) => schema?.openAPIV3Schema !== undefined);
}

function sameSchema(
  a: CustomResourceValidation | undefined,
  b: CustomResourceValidation | undefined,
): boolean {
  return a !== undefined && b !== undefined && semanticEqual(a, b);
}

function storedExpressions(
  internal: InternalSpec,
): Pick<DefinitionOptions, "storedRules" | "storedMessageExpressions"> {
  const storedRules = new Set<string>();
  const storedMessageExpressions = new Set<string>();
  for (const schema of schemasOf(internal)) {
    someSchema(schema, (part) => {
      for (const { rule, messageExpression } of part["x-kubernetes-validations"] ?? []) {
        storedRules.add(rule);
        if (messageExpression !== undefined) storedMessageExpressions.add(messageExpression);
      }
      return false;
    });
  }
  return { storedRules, storedMessageExpressions };
}

function hasInvalidCaBundle({ spec }: CustomResourceDefinition): boolean {
  const bundle = spec.conversion?.webhook?.clientConfig?.caBundle ?? "";
  return bundle !== "" && caBundleFault(bundle) !== undefined;
}

/** A bundle must hold at least one certificate. */
export function caBundleFault(base64: string): string | undefined {
  const text = new TextDecoder().decode(bytesOfBase64(base64));
  const found = parsePem(text).some(({ type }) => type === "CERTIFICATE");
  return found ? undefined : "unable to load root certificates: unable to parse bytes as PEM block";
}
