/**
 * The kind that a version of a CustomResourceDefinition defines. Its rules follow from the definition's
 * schema: unknown fields are pruned, defaults are set on requests and on reads from the store, values
 * are validated in the version of the request.
 */
import { RESETS_STATUS, STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { keepFields } from "#api/draft.ts";
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from "#api/generated/apiextensions.v1.ts";
import {
  type Draft,
  defineKind,
  type Kind,
  type KindSpec,
  type KubeObject,
  type RemoteConversion,
} from "#api/kind.ts";
import { membersOf } from "#api/members.ts";
import { failure, internalErrorStatus, type Result, success } from "#api/meta/status.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { finish, type Steps } from "#lib/async/steps.ts";
import { lazy } from "#lib/lazy.ts";
import { applyDefaults, defaultSteps, dropNullSteps } from "../json-schema/apply-defaults.ts";
import { isNormalized } from "../json-schema/is-normalized.ts";
import { prune, pruneSteps } from "../json-schema/prune.ts";
import { appliedSchema, envelopeSchema } from "./applied-schema.ts";
import { finalizerWarnings } from "./finalizer-warnings.ts";
import { printerColumns } from "./printer-columns.ts";
import { publishedSchema } from "./published-schema.ts";
import { customResourceRules } from "./resource-rules.ts";
import { selectableFieldsOf } from "./selectable-fields.ts";

/** Converts objects of any version to the one named; they come back in the order given. */
export type ConvertByWebhook = (
  objects: readonly KubeObject[],
  apiVersion: string,
) => Promise<Result<readonly KubeObject[]>>;

type CustomResource = KubeObject & { readonly status?: unknown };

/**
 * All versions, the stored one among them. Names are those that the status says are accepted.
 * `isTerminating`: the definition is being deleted, and its kind takes no new objects. `convert` is used
 * by definitions with the conversion strategy Webhook.
 */
export function customResourceKinds(
  definition: CustomResourceDefinition,
  isTerminating: () => boolean,
  convert?: ConvertByWebhook,
): Kind[] {
  const versions = definition.spec.versions ?? [];
  const stored = versions.find(({ storage }) => storage);
  if (stored === undefined) throw new Error(`${definition.metadata.name} stores no version`);
  return versions.map((version) =>
    withColumns(defineKind(kindSpec(definition, version, stored, isTerminating, convert)), version),
  );
}

/** They are made when a table is first asked for: their paths are parsed. */
function withColumns(kind: Kind, version: CustomResourceDefinitionVersion): Kind {
  const get = lazy(() => printerColumns(version.additionalPrinterColumns));
  return Object.defineProperty(kind, "columns", { get, enumerable: true });
}

function kindSpec(
  { spec, status }: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  stored: CustomResourceDefinitionVersion,
  isTerminating: () => boolean,
  convert: ConvertByWebhook | undefined,
): KindSpec<CustomResource> {
  const { group } = spec;
  const names = status.acceptedNames;
  const apiVersion = `${group}/${version.name}`;
  const keepsAll = spec.preserveUnknownFields === true;
  // Schemas are large, and many are never used.
  const schema = lazy(() => (keepsAll ? openSchema(version) : version.schema?.openAPIV3Schema));
  const applied = (): JSONSchemaProps => schema() ?? OPEN;
  const name = definitionName(group, version.name, names.kind);
  const envelope = envelopeSchema(name);
  const typed = lazy(() => appliedSchema(applied(), name));
  const hasStatus = version.subresources?.status !== undefined;
  const rules = customResourceRules(version, applied);
  const { scale } = version.subresources ?? {};
  const isRemote = spec.conversion?.strategy === "Webhook";
  const storedVersion = `${group}/${stored.name}`;
  const toOwn = isRemote ? prunedConversion(convert, apiVersion, applied) : undefined;
  const storedSchema = lazy(
    () => (keepsAll ? openSchema(stored) : stored.schema?.openAPIV3Schema) ?? OPEN,
  );
  return {
    group,
    version: version.name,
    names: {
      kind: names.kind,
      plural: names.plural,
      singular: names.singular ?? "",
      list: names.listKind ?? `${names.kind}List`,
      short: names.shortNames ?? [],
      categories: names.categories ?? [],
    },
    scope: spec.scope === "Namespaced" ? "Namespaced" : "Cluster",
    schema: () => envelope,
    nameRule: nameIsDnsSubdomain,
    generation: true,
    storagePath: `${group}/${names.plural}`,
    storedForm: "json",
    holdsFreeJson: true,
    ...(version.deprecated
      ? { deprecation: version.deprecationWarning ?? `${apiVersion} ${names.kind} is deprecated` }
      : {}),
    resetFields: hasStatus ? { "": RESETS_STATUS, ...STATUS_RESETS_METADATA } : {},
    custom: {
      isTerminating,
      appliedSchema: typed,
      prune: (draft) => pruneDraft(draft, applied()),
      defaultSteps: (draft) => defaultSteps(draft, applied()),
      get storedSchema() {
        return schema();
      },
      fromStore: (object) => fromStore(object, applied()),
      ...(toOwn !== undefined && version === stored ? { convertOlder: toOwn } : {}),
      publishedSchema: (dialect) =>
        publishedSchema(version.schema?.openAPIV3Schema && schema(), dialect),
    },
    defaults: (draft) => applyDefaults(draft, applied()),
    prepareCreate: (draft) => {
      if (hasStatus) delete draft.status;
    },
    prepareUpdate: (draft, old) => {
      if (hasStatus) keepFields(draft, old, "status");
      else countChange(draft, old);
    },
    validate: rules.validate,
    validateUpdate: rules.validateUpdate,
    warnings: finalizerWarnings,
    ...(hasStatus
      ? { subresources: { status: { prepareUpdate: keepAllButStatus, ...rules.status } } }
      : {}),
    ...(scale === undefined
      ? {}
      : {
          scale: {
            specReplicas: scale.specReplicasPath,
            statusReplicas: scale.statusReplicasPath,
            selector: scale.labelSelectorPath ?? "",
          },
        }),
    columns: [], // see withColumns
    ...selectableFieldsOf(version),
    ...(version === stored
      ? {}
      : {
          storedAs: {
            ...renamedTo(group, stored.name, version.name),
            ...(toOwn === undefined
              ? {}
              : {
                  remote: {
                    toStored: prunedConversion(convert, storedVersion, storedSchema),
                    fromStored: toOwn,
                  },
                }),
          },
        }),
  };
}

const OPEN: JSONSchemaProps = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

/** Definitions of old keep all fields, whatever their schema says. */
function openSchema({ schema }: CustomResourceDefinitionVersion): JSONSchemaProps {
  return { ...OPEN, ...schema?.openAPIV3Schema, "x-kubernetes-preserve-unknown-fields": true };
}

/** `com.example.v1.Widget` for Widgets of example.com/v1. */
function definitionName(group: string, version: string, kind: string): string {
  return `${group.split(".").reverse().join(".")}.${version}.${kind}`;
}

function* pruneDraft(draft: Draft<KubeObject>, schema: JSONSchemaProps): Steps<readonly string[]> {
  const options = { isResource: true, unknown: [] as string[], unknownMetadata: [] as string[] };
  const kept = membersOf((yield* pruneSteps(draft, schema, options)) as object);
  for (const name of Object.keys(draft)) {
    if (!Object.hasOwn(kept, name)) Reflect.deleteProperty(draft, name);
  }
  Object.assign(draft, kept);
  yield* dropNullSteps(draft, schema);
  // Upstream looks at embedded metadata after everything else.
  return [...options.unknown.sort(), ...options.unknownMetadata.sort()];
}

/** The object itself if nothing in it changes. */
function fromStore(stored: KubeObject, schema: JSONSchemaProps): KubeObject {
  if (isNormalized(stored, schema, true)) return stored;
  const kept = structuredClone(prune(stored, schema, { isResource: true })) as KubeObject;
  finish(dropNullSteps(kept, schema));
  applyDefaults(kept, schema);
  return jsonEqual(membersOf(kept), membersOf(stored)) ? stored : kept;
}

/** Without a status subresource, every change but those of metadata counts as one of the spec. */
function countChange(draft: Draft<CustomResource>, old: CustomResource): void {
  if (jsonEqual(draft.status, old.status)) return;
  draft.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

function keepAllButStatus(draft: Draft<CustomResource>, old: CustomResource): void {
  const { status } = draft;
  const { managedFields } = draft.metadata;
  for (const name of Object.keys(draft)) Reflect.deleteProperty(draft, name);
  Object.assign(draft, structuredClone(old));
  if (managedFields === undefined) delete draft.metadata.managedFields;
  else draft.metadata.managedFields = managedFields;
  if (status === undefined) delete draft.status;
  else draft.status = status;
}

/** Conversion `None`: versions differ in their apiVersion only. */
function renamedTo(
  group: string,
  stored: string,
  served: string,
): NonNullable<KindSpec<CustomResource>["storedAs"]> {
  return {
    group,
    version: stored,
    toStored: (object) => ({ ...object, apiVersion: `${group}/${stored}` }),
    fromStored: (object) => ({ ...object, apiVersion: `${group}/${served}` }),
  };
}

/** What comes from a webhook is pruned by the schema of the version that it is in. */
function prunedConversion(
  convert: ConvertByWebhook | undefined,
  apiVersion: string,
  schema: () => JSONSchemaProps,
): RemoteConversion["fromStored"] {
  return async (objects) => {
    if (convert === undefined) {
      return failure(internalErrorStatus(`nothing converts objects to ${apiVersion}`));
    }
    const converted = await convert(objects, apiVersion);
    if (!converted.ok) return converted;
    return success(
      converted.value.map((object) => prune(object, schema(), { isResource: true }) as KubeObject),
    );
  };
}
