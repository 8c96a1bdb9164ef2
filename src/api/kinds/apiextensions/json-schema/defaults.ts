/** Defaults inside a schema must themselves be what the schema asks for, its CEL rules included. */
import { type ExpressionCompiler, SCHEMA_RULES_COST_MAX } from "#api/expressions.ts";
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { goMapJson } from "#api/meta/go-json.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { formatFieldError } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import type { Steps } from "#lib/async/steps.ts";
import { hasEmbedded, validateEmbedded } from "./embedded-resources.ts";
import { prune } from "./prune.ts";
import { validateValue } from "./validate-value.ts";
import { additionalSchema, itemsSchema, SchemaFact } from "./walk.ts";

export interface DefaultsOptions {
  /** Defaults with fields that pruning would take away are refused. */
  readonly requirePruned: boolean;
  /** Absent: expressions are taken on trust. */
  readonly rules?: ExpressionCompiler["schemaDefaultRules"] | undefined;
}

/** `schema` is structural; `path` is where it stands. In steps: there may be many defaults. */
export function* validateDefaults(
  schema: JSONSchemaProps,
  options: DefaultsOptions,
  path: Path,
): Steps<FieldError[]> {
  const check: Check = { ...options, budget: SCHEMA_RULES_COST_MAX, errors: [] };
  const around = (value: unknown): unknown => value;
  yield* validateBelow(schema, { isResource: true, insideMeta: false, around }, check, path);
  return check.errors;
}

export function hasUnprunedDefault(schema: JSONSchemaProps): boolean {
  const { default: value, properties = {} } = schema;
  if (value !== undefined && !isPruned(value, schema)) return true;
  const children = [itemsSchema(schema), additionalSchema(schema), ...Object.values(properties)];
  return children.some((child) => child !== undefined && hasUnprunedDefault(child));
}

/** The schema without unknown fields in the metadata of embedded resources in its defaults. */
export function withKnownDefaultMetadata(schema: JSONSchemaProps): JSONSchemaProps {
  if (!hasEmbedded.holds(schema)) return schema;
  const { default: value, properties, items, additionalProperties: additional } = schema;
  const inner = <T>(one: T): T => (isSchema(one) ? (withKnownDefaultMetadata(one) as T) : one);
  const members = Object.entries(properties ?? {}).map(([name, one]) => [name, inner(one)]);
  return {
    ...schema,
    ...(value === undefined
      ? {}
      : { default: prune(value, schema, { keepsOthers: true }) as Json }),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(members) }),
    ...(items === undefined ? {} : { items: inner(items) }),
    ...(additional === undefined ? {} : { additionalProperties: inner(additional) }),
  };
}

type Json = NonNullable<JSONSchemaProps["default"]>;

function isSchema(value: unknown): value is JSONSchemaProps {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface Check extends DefaultsOptions {
  /** What the rules of the defaults that are left may cost; negative: no more are looked at. */
  budget: number;
  readonly errors: FieldError[];
}

interface Place {
  /** The schema is that of a whole resource, by its place. */
  readonly isResource: boolean;
  /** Below metadata, kind or apiVersion of a resource. */
  readonly insideMeta: boolean;
  /** The resource around a value in this place, with nothing else in it. */
  around(value: unknown): unknown;
}

function* validateBelow(
  schema: JSONSchemaProps,
  place: Place,
  check: Check,
  path: Path,
): Steps<void> {
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true;
  const isResource = place.isResource || isEmbedded;
  const insideMeta = place.insideMeta && !isEmbedded;
  const around = isEmbedded ? (value: unknown) => value : place.around;
  if (schema.default !== undefined) {
    validateDefault(schema, { isResource, insideMeta, around }, check, path.child("default"));
    yield;
  }
  if (check.budget < 0) return;
  const items = itemsSchema(schema);
  if (items !== undefined) {
    const inside = { isResource: false, insideMeta, around: (value: unknown) => around([value]) };
    yield* validateBelow(items, inside, check, path.child("items"));
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (check.budget < 0) return;
    const inside = {
      isResource: false,
      insideMeta: insideMeta || (isResource && RESOURCE_FIELDS.includes(name)),
      around: (value: unknown) => around({ [name]: value }),
    };
    yield* validateBelow(property, inside, check, path.child("properties").key(name));
  }
}

const RESOURCE_FIELDS = ["metadata", "apiVersion", "kind"];
const EMBEDDED: JSONSchemaProps = { "x-kubernetes-embedded-resource": true };
/** What the resource around a default in its metadata is. */
const TYPE_META = { apiVersion: "validation/v1", kind: "Validation" };

function validateDefault(schema: JSONSchemaProps, place: Place, check: Check, path: Path): void {
  const { errors, requirePruned, rules } = check;
  const value = schema.default;
  if (!place.insideMeta && requirePruned && !isPruned(value, schema)) {
    errors.push(invalid(path, asMap(value), "must not have unknown fields"));
  }
  const meta = place.insideMeta
    ? metadataFaults(value, place, path)
    : validateEmbedded(value, schema, path);
  const faults = meta.length > 0 ? meta : validateValue(value, withoutEither(schema), path);
  errors.push(...faults);
  if (faults.length > 0) return;
  const validate = rules?.(schema, place.isResource);
  if (validate === undefined) return;
  const outcome = validate(value, path, check.budget);
  errors.push(...outcome.errors);
  check.budget = outcome.budget;
}

function metadataFaults(value: unknown, { around }: Place, path: Path): FieldError[] {
  const resource = { ...TYPE_META, ...(around(value) as object) };
  const faults = validateEmbedded(resource, EMBEDDED, Path.of(""));
  if (faults.length === 0) return [];
  const texts = faults.map((fault) => `${fault.field}: ${formatFieldError(fault)}`);
  const text = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  return [invalid(path, asMap(value), `must result in valid metadata: ${text}`)];
}

/** Unknown fields in the metadata of embedded resources are let pass here, as upstream. */
function isPruned(value: unknown, schema: JSONSchemaProps): boolean {
  return jsonEqual(prune(value, schema, { keepsMetadata: true }), value);
}

/** The value with its keys in order: upstream has it as a map. */
function asMap(value: unknown): unknown {
  return JSON.parse(goMapJson(value));
}

/** Upstream does not check that a default of an int-or-string is one of the two. */
function withoutEither(schema: JSONSchemaProps): JSONSchemaProps {
  if (!mayBeEither.holds(schema)) return schema;
  const { "x-kubernetes-int-or-string": _, ...rest } = schema;
  const { properties } = rest;
  const [items, additional] = [itemsSchema(rest), additionalSchema(rest)];
  return {
    ...rest,
    ...(items === undefined ? {} : { items: withoutEither(items) }),
    ...(additional === undefined ? {} : { additionalProperties: withoutEither(additional) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, inner]) => [name, withoutEither(inner)]),
          ),
        }),
  };
}

const mayBeEither = new SchemaFact((schema) => schema["x-kubernetes-int-or-string"] === true);
