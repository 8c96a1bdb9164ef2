/** What a definition of custom resources must be as a whole. */
import type {
  CustomResourceConversion,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from "#api/generated/apiextensions.v1.ts";
import type { RuleContext } from "#api/kind.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { semanticEqual, validateImmutableField } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { isDns1035Label, isDns1123Subdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { validateReviewVersions } from "#api/validation/review-versions.ts";
import { validateWebhookClient } from "#api/validation/webhook-client.ts";
import type { Steps } from "#lib/async/steps.ts";
import { someSchema } from "../json-schema/walk.ts";
import { type InternalSpec, internalSpec, schemasOf } from "./internal-spec.ts";
import { caBundleFault, type DefinitionOptions } from "./ratcheting.ts";
import { validateResourceSchema } from "./resource-schema-rules.ts";
import {
  validateColumns,
  validateDeprecationWarning,
  validateNames,
  validateSelectableFields,
  validateSubresources,
} from "./version-rules.ts";

const SPEC = Path.of("spec");
const VERSIONS = SPEC.child("versions");
const VERSION_TYPE = "[]apiextensions.v1.CustomResourceDefinitionVersion";

/** In steps: schemas may be large. */
export function* validateSpec(
  spec: CustomResourceDefinitionSpec,
  options: DefinitionOptions,
  context: RuleContext,
): Steps<FieldError[]> {
  const internal = internalSpec(spec);
  const preserves = spec.preserveUnknownFields === true;
  const hasDefaults = schemasOf(internal).some((schema) =>
    someSchema(schema, (part) => part.default !== undefined),
  );
  const structural =
    options.requireStructural || !preserves || hasDefaults || usesExtensions(internal);
  const strict = { ...options, requireStructural: structural };
  yield;

  const errors = [
    ...validateGroup(spec.group),
    ...validateChoice(spec.scope, ["Cluster", "Namespaced"], SPEC.child("scope")),
    ...validateSchemaPresence(internal, strict, preserves),
  ];
  if (hasDefaults && preserves) {
    const detail = "must be false in order to use defaults in the schema";
    errors.push(invalid(SPEC.child("preserveUnknownFields"), true, detail));
  }
  for (const [i, version] of internal.versions.entries()) {
    const at = VERSIONS.index(i);
    errors.push(...(yield* validateVersion(version, internal, strict, context, at)));
  }
  yield;
  errors.push(
    ...validateVersionSet(internal),
    ...validateRequiredNames(spec),
    ...validateNames(spec.names, SPEC.child("names")),
    ...(yield* validateCommonParts(internal, strict, context)),
    ...validateConversion(spec.conversion, preserves, strict),
  );
  return errors;
}

export function validateSpecUpdate(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec,
  options: DefinitionOptions,
): FieldError[] {
  const names = SPEC.child("names");
  return [
    ...(options.requireImmutableNames
      ? [
          ...validateImmutableField(spec.scope, old.scope, SPEC.child("scope")),
          ...validateImmutableField(spec.names.kind, old.names.kind, names.child("kind")),
        ]
      : []),
    ...validateImmutableField(spec.group, old.group, SPEC.child("group")),
    ...validateImmutableField(spec.names.plural, old.names.plural, names.child("plural")),
  ];
}

function usesExtensions(internal: InternalSpec): boolean {
  return schemasOf(internal).some((schema) =>
    someSchema(
      schema,
      (part) =>
        part["x-kubernetes-embedded-resource"] === true ||
        part["x-kubernetes-preserve-unknown-fields"] !== undefined ||
        part["x-kubernetes-int-or-string"] === true ||
        (part["x-kubernetes-list-map-keys"] ?? []).length > 0 ||
        part["x-kubernetes-list-type"] !== undefined ||
        (part["x-kubernetes-validations"] ?? []).length > 0,
    ),
  );
}

function validateGroup(group: string): FieldError[] {
  const path = SPEC.child("group");
  if (group === "") return [required(path, "")];
  const faults = isDns1123Subdomain(group);
  if (faults.length > 0) return [invalid(path, group, faults.join(","))];
  if (group.includes(".")) return [];
  return [invalid(path, group, "should be a domain with at least one dot")];
}

function validateChoice(value: string, choices: readonly string[], path: Path): FieldError[] {
  if (value === "") return [required(path, "")];
  return choices.includes(value) ? [] : [notSupported(path, value, choices)];
}

function validateSchemaPresence(
  { validation, versions }: InternalSpec,
  { requireSchema }: DefinitionOptions,
  preserves: boolean,
): FieldError[] {
  if (validation?.openAPIV3Schema !== undefined || (!requireSchema && preserves)) return [];
  const detail = requireSchema ? "" : "because otherwise all fields are pruned";
  return versions.flatMap(({ schema, served }, i) =>
    schema?.openAPIV3Schema === undefined && (requireSchema || served)
      ? [required(VERSIONS.index(i).child("schema", "openAPIV3Schema"), detail)]
      : [],
  );
}

function* validateVersion(
  version: CustomResourceDefinitionVersion,
  internal: InternalSpec,
  options: DefinitionOptions,
  context: RuleContext,
  path: Path,
): Steps<FieldError[]> {
  const faults = isDns1035Label(version.name);
  const errors: FieldError[] = [];
  if (faults.length > 0) errors.push(invalid(path.child("name"), version.name, faults.join(",")));
  const hasOwn = internal.versions.some(({ subresources }) => subresources !== undefined);
  const subresources = hasOwn ? version.subresources : internal.subresources;
  errors.push(
    ...validateDeprecationWarning(version, path.child("deprecationWarning")),
    ...(yield* validateResourceSchema(
      version.schema,
      { hasStatus: subresources?.status !== undefined, version: version.name },
      options,
      context,
      path.child("schema"),
    )),
    ...validateSubresources(version.subresources, path.child("subresources")),
    ...validateColumns(version.additionalPrinterColumns, path.child("additionalPrinterColumns")),
  );
  const fields = version.selectableFields ?? [];
  if (fields.length === 0) return errors;
  const at = path.child("selectableFields");
  const schema = version.schema?.openAPIV3Schema;
  if (schema === undefined) {
    const detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
    return [...errors, invalid(at, "", detail)];
  }
  const allowed = options.allowsTooManyFields(version.name);
  return [...errors, ...validateSelectableFields(fields, schema, allowed, at)];
}

/** The versions taken together: nothing twice, one of them stored. */
function validateVersionSet(internal: InternalSpec): FieldError[] {
  const { spec, versions } = internal;
  const errors: FieldError[] = [];
  const fault = (detail: string) =>
    errors.push(invalid(VERSIONS, internalForm(VERSION_TYPE, spec.versions && versions), detail));
  for (const [field, what, top] of [
    ["schema", "schemas", "validation"],
    ["subresources", "subresources", "subresources"],
    ["additionalPrinterColumns", "additionalPrinterColumns", "additionalPrinterColumns"],
  ] as const) {
    const [first] = versions;
    const identical = versions.every(
      (version) => version[field] !== undefined && semanticEqual(version[field], first?.[field]),
    );
    if (versions.length > 0 && identical) {
      fault(
        `per-version ${what} may not all be set to identical values (top-level ${top} should be used instead)`,
      );
    }
  }
  const names = versions.map(({ name }) => name);
  if (new Set(names).size < names.length) fault("must contain unique version names");
  if (versions.filter(({ storage }) => storage).length !== 1) {
    fault("must have exactly one version marked as storage version");
  }
  const [first = ""] = names;
  const faults = first === "" ? [] : isDns1035Label(first);
  if (faults.length > 0) errors.push(invalid(SPEC.child("version"), first, faults.join(",")));
  return errors;
}

function validateRequiredNames({ names }: CustomResourceDefinitionSpec): FieldError[] {
  return (["plural", "singular", "kind", "listKind"] as const)
    .filter((field) => (names[field] ?? "") === "")
    .map((field) => required(SPEC.child("names", field), ""));
}

function* validateCommonParts(
  internal: InternalSpec,
  options: DefinitionOptions,
  context: RuleContext,
): Steps<FieldError[]> {
  const { validation, subresources, columns, selectableFields = [], versions } = internal;
  const hasStatus =
    subresources?.status !== undefined ||
    versions.some((v) => v.subresources?.status !== undefined);
  const errors = [
    ...(yield* validateResourceSchema(
      validation,
      { hasStatus, version: "" },
      options,
      context,
      SPEC.child("validation"),
    )),
    ...validateSubresources(subresources, SPEC.child("subresources")),
    ...validateColumns(columns, SPEC.child("additionalPrinterColumns")),
  ];
  if (selectableFields.length === 0) return errors;
  const at = SPEC.child("selectableFields");
  if (validation === undefined) {
    return [...errors, invalid(at, "", "may only be set when validations.schema is included")];
  }
  const allowed = options.allowsTooManyFields("");
  const schema = validation.openAPIV3Schema ?? {};
  return [...errors, ...validateSelectableFields(selectableFields, schema, allowed, at)];
}

function validateConversion(
  conversion: CustomResourceConversion | undefined,
  preserves: boolean,
  options: DefinitionOptions,
): FieldError[] {
  if (conversion === undefined) return [];
  const path = SPEC.child("conversion");
  const { strategy, webhook } = conversion;
  const errors: FieldError[] = [];
  if (strategy !== "None" && preserves) {
    const detail = "must be None if spec.preserveUnknownFields is true";
    errors.push(invalid(path.child("strategy"), strategy, detail));
  }
  errors.push(...validateChoice(strategy, ["None", "Webhook"], path.child("strategy")));
  const client = webhook?.clientConfig;
  const versions = webhook?.conversionReviewVersions ?? [];
  const clientPath = path.child("webhookClientConfig");
  const versionsPath = path.child("conversionReviewVersions");
  if (strategy !== "Webhook") {
    const detail = "should not be set when strategy is not set to Webhook";
    if (client !== undefined) errors.push(forbidden(clientPath, detail));
    if (versions.length > 0) errors.push(forbidden(versionsPath, detail));
    return errors;
  }
  if (client === undefined) {
    errors.push(required(clientPath, "required when strategy is set to Webhook"));
  } else {
    errors.push(...validateWebhookClient(client, clientPath));
    const { caBundle = "" } = client;
    const fault = caBundle === "" ? undefined : caBundleFault(caBundle);
    if (options.requireValidCaBundle && fault !== undefined) {
      errors.push(invalid(clientPath.child("caBundle"), caBundle, fault));
    }
  }
  const rules = { absent: "", mustKnowOne: options.requireKnownReviewVersion };
  return [...errors, ...validateReviewVersions(versions, rules, versionsPath)];
}
