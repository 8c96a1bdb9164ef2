/** Whether an object of a custom resource is what its definition asks for. */
import type {
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
  JSONSchemaProps,
} from "#api/generated/apiextensions.v1.ts";
import type { KubeObject, RuleContext } from "#api/kind.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import { validateObjectMetaUpdate } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import type { Steps } from "#lib/async/steps.ts";
import { validateEmbedded } from "../json-schema/embedded-resources.ts";
import { validateListItems } from "../json-schema/list-items.ts";
import { validateValueSteps } from "../json-schema/validate-value.ts";

type CustomResource = KubeObject & { readonly status?: unknown };

export interface CustomResourceRules {
  validate(object: CustomResource, context: RuleContext): Steps<FieldError[]>;
  validateUpdate(
    object: CustomResource,
    old: CustomResource,
    context: RuleContext,
  ): Steps<FieldError[]>;
  readonly status: Pick<CustomResourceRules, "validateUpdate">;
}

const ROOT = Path.of("");
const STATUS = Path.of("status");

export function customResourceRules(
  { subresources }: CustomResourceDefinitionVersion,
  schemaOf: () => JSONSchemaProps,
): CustomResourceRules {
  const scale = subresources?.scale;
  const lists = (object: CustomResource) => validateListItems(object, schemaOf(), ROOT);
  function* checked(
    errors: readonly FieldError[],
    object: CustomResource,
    old: CustomResource | undefined,
    { expressions }: RuleContext,
  ): Steps<FieldError[]> {
    yield;
    const rules = expressions?.schemaRules?.(schemaOf());
    if (rules === undefined) return [...errors];
    return [
      ...errors,
      ...(errors.some(isBlocking) ? [UNCHECKED] : yield* rules(object, old, ROOT)),
    ];
  }
  return {
    *validate(object, context) {
      const schema = schemaOf();
      const errors = [
        ...(yield* validateValueSteps(object, schema, undefined)),
        ...validateScaleSpec(object, scale),
        ...validateScaleStatus(object, scale),
        ...validateEmbedded(object, schema, ROOT),
        ...(yield* lists(object)),
      ];
      return yield* checked(errors, object, undefined, context);
    },
    *validateUpdate(object, old, context) {
      const schema = schemaOf();
      const errors = [
        ...validateObjectMetaUpdate(object.metadata, old.metadata, METADATA),
        ...(yield* validateValueSteps(object, schema, undefined, old)),
        ...validateScaleSpec(object, scale),
        ...validateScaleStatus(object, scale),
        ...validateEmbedded(object, schema, ROOT),
        ...((yield* lists(old)).length > 0 ? [] : yield* lists(object)),
      ];
      return yield* checked(errors, object, old, context);
    },
    status: {
      *validateUpdate(object, old, context) {
        const statusSchema = schemaOf().properties?.status;
        const errors = [
          ...validateObjectMetaUpdate(object.metadata, old.metadata, METADATA),
          ...(statusSchema === undefined || object.status === undefined
            ? []
            : yield* validateValueSteps(object.status, statusSchema, STATUS, old.status)),
          ...validateScaleStatus(object, scale),
          ...((yield* lists(old)).length > 0 ? [] : yield* lists(object)),
        ];
        return yield* checked(errors, object, old, context);
      },
    },
  };
}

/** Rules may rely on what these errors say is not so. */
const BLOCKING: ReadonlySet<FieldError["type"]> = new Set<FieldError["type"]>([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

function isBlocking({ type }: FieldError): boolean {
  return BLOCKING.has(type);
}

const UNCHECKED: FieldError = {
  type: "FieldValueInvalid",
  field: "<nil>",
  badValue: null,
  detail:
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
};

const INT32_MAX = 2 ** 31 - 1;

function validateScaleSpec(
  object: CustomResource,
  scale: CustomResourceSubresourceScale | undefined,
): FieldError[] {
  return scale === undefined ? [] : validateReplicas(object, scale.specReplicasPath);
}

function validateScaleStatus(
  object: CustomResource,
  scale: CustomResourceSubresourceScale | undefined,
): FieldError[] {
  if (scale === undefined) return [];
  const { statusReplicasPath, labelSelectorPath } = scale;
  const errors = validateReplicas(object, statusReplicasPath);
  const selector = labelSelectorPath === undefined ? undefined : valueAt(object, labelSelectorPath);
  if (labelSelectorPath === undefined || selector === undefined || typeof selector === "string") {
    return errors;
  }
  const detail = accessorFault(labelSelectorPath, selector, "string");
  return [...errors, invalid(Path.of(labelSelectorPath), "", detail)];
}

function validateReplicas(object: CustomResource, path: string): FieldError[] {
  const replicas = valueAt(object, path);
  if (replicas === undefined) return [];
  const at = Path.of(path);
  if (typeof replicas !== "number" || !Number.isInteger(replicas)) {
    return [invalid(at, 0, accessorFault(path, replicas, "int64"))];
  }
  if (replicas < 0) return [invalid(at, replicas, "should be a non-negative integer")];
  if (replicas <= INT32_MAX) return [];
  return [invalid(at, replicas, `should be less than or equal to ${INT32_MAX}`)];
}

function accessorFault(path: string, value: unknown, wanted: string): string {
  return `${path} accessor error: ${JSON.stringify(value)} is of the type ${goTypeOf(value)}, expected ${wanted}`;
}

function goTypeOf(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  switch (typeof value) {
    case "object":
      return "map[string]interface {}";
    case "number":
      return Number.isInteger(value) ? "int64" : "float64";
    case "boolean":
      return "bool";
    default:
      return "string";
  }
}

/** `.spec.replicas` */
function valueAt(object: CustomResource, path: string): unknown {
  let value: unknown = object;
  for (const step of path.replace(/^\./, "").split(".")) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  return value;
}
