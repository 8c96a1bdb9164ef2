/** apiextensions.k8s.io/v1 CustomResourceDefinition: a kind that users bring along. */

import { createdAtColumn, nameColumn } from "#api/columns.ts";
import { keepFields } from "#api/draft.ts";
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
} from "#api/generated/apiextensions.v1.ts";
import { type Draft, defineKind } from "#api/kind.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { validateObjectMetaUpdate } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import { withKnownDefaultMetadata } from "../json-schema/defaults.ts";
import { isUnrecognizedFormat } from "../json-schema/formats.ts";
import { someSchema } from "../json-schema/walk.ts";
import { validateApproval } from "./approval.ts";
import { validateSpec, validateSpecUpdate } from "./definition-rules.ts";
import { beginDeletion } from "./deletion.ts";
import { fromV1beta1 } from "./from-v1beta1.ts";
import { internalSpec, schemasOf } from "./internal-spec.ts";
import { NEW_DEFINITION, updateOptions } from "./ratcheting.ts";
import { validateNames } from "./version-rules.ts";

export const customResourceDefinitionKind = defineKind<CustomResourceDefinition>({
  group: "apiextensions.k8s.io",
  version: "v1",
  names: {
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    short: ["crd", "crds"],
    categories: ["api-extensions"],
  },
  scope: "Cluster",
  schema: builtInSchema("apiextensions.v1.CustomResourceDefinition"),
  // Upstream serves it by a server of its own, which puts the group in front and stores only JSON, and
  // still stores the first version.
  storagePath: "apiextensions.k8s.io/customresourcedefinitions",
  storedForm: "json",
  storageVersion: "v1beta1",
  fromOldVersion: fromV1beta1,
  nameRule: (name, prefix, definition) => [
    ...nameIsDnsSubdomain(name, prefix),
    ...(definition === undefined || name === wantedName(definition) ? [] : [NAME_FAULT]),
  ],
  generation: true,
  defaults: setDefaults,
  prepareCreate: (draft) => {
    draft.status = {
      conditions: null,
      acceptedNames: { plural: "", kind: "" },
      storedVersions: null,
    };
    addStoredVersion(draft);
  },
  prepareUpdate: (draft, old) => {
    keepFields(draft, old, "status");
    addStoredVersion(draft);
  },
  *validate(definition, context) {
    return [
      ...(yield* validateSpec(definition.spec, NEW_DEFINITION, context)),
      ...validateStatus(definition),
      ...validateStoredVersions(definition),
      ...validateApproval(definition, undefined),
      ...validatePreserve(definition, undefined),
    ];
  },
  *validateUpdate(definition, old, context) {
    const options = updateOptions(definition, old);
    return [
      ...validateObjectMetaUpdate(definition.metadata, old.metadata, METADATA),
      ...(yield* validateSpec(definition.spec, options, context)),
      ...validateSpecUpdate(definition.spec, old.spec, options),
      ...validateStatus(definition),
      ...validateStoredVersions(definition),
      ...validateApproval(definition, old),
      ...validatePreserve(definition, old),
    ];
  },
  canonicalize: ({ spec }) => {
    for (const { schema } of spec.versions ?? []) {
      if (schema?.openAPIV3Schema === undefined) continue;
      const known = withKnownDefaultMetadata(schema.openAPIV3Schema);
      schema.openAPIV3Schema = known as typeof schema.openAPIV3Schema;
    }
  },
  warnings: ({ spec }, old) => {
    const known = old === undefined ? [] : unrecognizedFormats(old.spec);
    return unrecognizedFormats(spec)
      .filter((format) => !known.includes(format))
      .map((format) => `unrecognized format ${goQuote(format)}`);
  },
  subresources: {
    status: {
      prepareUpdate: (draft, old) => keepFields(draft, old, "spec"),
      validateUpdate: (definition, old) => [
        ...validateObjectMetaUpdate(definition.metadata, old.metadata, METADATA),
        ...validateStatus(definition),
      ],
    },
  },
  deletion: { begin: beginDeletion },
  columns: [nameColumn, createdAtColumn],
});

function setDefaults({ spec, status }: Draft<CustomResourceDefinition>): void {
  const { names } = spec;
  if ((names.singular ?? "") === "") names.singular = names.kind.toLowerCase();
  if ((names.listKind ?? "") === "" && names.kind !== "") names.listKind = `${names.kind}List`;
  spec.conversion ??= { strategy: "None" };
  const { webhook } = spec.conversion;
  const service = webhook?.clientConfig?.service;
  if (service !== undefined) service.port ??= 443;
  if (webhook?.clientConfig === undefined && !webhook?.conversionReviewVersions?.length) {
    delete spec.conversion.webhook; // says nothing
  }
  if ((status.storedVersions ?? []).length === 0) {
    const stored = (spec.versions ?? []).find(({ storage }) => storage);
    if (stored !== undefined) status.storedVersions = [stored.name];
  }
}

function addStoredVersion(draft: Draft<CustomResourceDefinition>): void {
  const stored = (draft.spec.versions ?? []).find(({ storage }) => storage);
  const known = draft.status.storedVersions ?? [];
  if (stored === undefined || known.includes(stored.name)) return;
  draft.status = { ...draft.status, storedVersions: [...known, stored.name] };
}

const NAME_FAULT = 'must be spec.names.plural+"."+spec.group';

function wantedName({ spec }: CustomResourceDefinition): string {
  return `${spec.names.plural}.${spec.group}`;
}

function validateStatus({ status }: CustomResourceDefinition): FieldError[] {
  return validateNames(status.acceptedNames, Path.of("status", "acceptedNames"));
}

/** No version in which objects may still be stored can go away. */
function validateStoredVersions({ spec, status }: CustomResourceDefinition): FieldError[] {
  const path = Path.of("status", "storedVersions");
  const stored = status.storedVersions ?? [];
  if (stored.length === 0) {
    return [invalid(path, status.storedVersions, "must have at least one stored version")];
  }
  const versions = spec.versions ?? [];
  // A version given twice counts once: the second finds no stored version of its own.
  const missing = versions
    .filter(({ name, storage }, i) => {
      const repeated = versions.findIndex((version) => version.name === name) < i;
      return storage && (repeated || !stored.includes(name));
    })
    .map(({ name }) => invalid(path, stored, `must have the storage version ${name}`));
  const gone = stored.flatMap((name, i) =>
    versions.some((version) => version.name === name)
      ? []
      : [
          invalid(
            path.index(i),
            name,
            `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
          ),
        ],
  );
  return [...missing, ...gone];
}

function validatePreserve(
  { spec }: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): FieldError[] {
  if (old?.spec.preserveUnknownFields || !spec.preserveUnknownFields) return [];
  const detail =
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
  return [invalid(Path.of("spec", "preserveUnknownFields"), true, detail)];
}

function unrecognizedFormats(spec: CustomResourceDefinitionSpec): string[] {
  const formats: string[] = [];
  for (const schema of schemasOf(internalSpec(spec))) {
    someSchema(schema, (part) => {
      if (isUnrecognizedFormat(part)) formats.push(part.format!);
      return false;
    });
  }
  return formats;
}
