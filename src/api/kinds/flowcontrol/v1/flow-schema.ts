/** flowcontrol.apiserver.k8s.io/v1 FlowSchema: which requests go to which priority level. */

import { STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { ageColumn, NONE, nameColumn } from "#api/columns.ts";
import type { FlowSchema, FlowSchemaSpec } from "#api/generated/flowcontrol.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { invalidEach } from "#api/validation/faults.ts";
import { type FieldError, invalid, notSupported, required } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateFinalizers, validateKubeMeta } from "#api/validation/kube-meta.ts";
import { isDns1123Subdomain, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { validateFlowRule } from "./flow-rules.ts";
import { MANDATORY_FLOW_SCHEMAS } from "./mandatory.ts";
import { statusHooks, validateStatus } from "./status.ts";

const PRECEDENCE_DEFAULT = 1000;
const PRECEDENCE_MAX = 10_000;
const DISTINGUISHERS = ["ByNamespace", "ByUser"];
const SPEC = "flowcontrol.v1.FlowSchemaSpec";

const META = { namespaced: false, nameRule: nameIsDnsSubdomain };

export const flowSchemaKind = defineKind<FlowSchema>({
  group: "flowcontrol.apiserver.k8s.io",
  version: "v1",
  names: { kind: "FlowSchema", plural: "flowschemas" },
  scope: "Cluster",
  schema: builtInSchema("flowcontrol.v1.FlowSchema"),
  resetFields: STATUS_RESETS_METADATA,
  nameRule: nameIsDnsSubdomain,
  generation: true,
  unconditionalUpdate: true,
  defaults: ({ spec }) => {
    spec.matchingPrecedence ||= PRECEDENCE_DEFAULT;
  },
  ...statusHooks,
  validate: (schema) => [...validateFinalizers(schema.metadata), ...validateSchema(schema)],
  validateUpdate: (schema) => [
    ...validateKubeMeta(schema.metadata, META),
    ...validateSchema(schema),
  ],
  // As requests meet them; lists are in the order of names already.
  compareRows: (a, b) => a.spec.matchingPrecedence - b.spec.matchingPrecedence,
  columns: [
    nameColumn,
    {
      name: "PriorityLevel",
      type: "string",
      describedBy: "flowcontrol.v1.PriorityLevelConfigurationReference.name",
      cell: ({ spec }) => spec.priorityLevelConfiguration.name,
    },
    {
      name: "MatchingPrecedence",
      type: "string",
      describedBy: `${SPEC}.matchingPrecedence`,
      cell: ({ spec }) => spec.matchingPrecedence,
    },
    {
      name: "DistinguisherMethod",
      type: "string",
      describedBy: `${SPEC}.distinguisherMethod`,
      cell: ({ spec }) => spec.distinguisherMethod?.type ?? NONE,
    },
    ageColumn,
    {
      name: "MissingPL",
      type: "string",
      description: "references a broken or non-existent PriorityLevelConfiguration",
      cell: ({ status }) =>
        (status.conditions ?? []).find(({ type }) => type === "Dangling")?.status ?? "?",
    },
  ],
});

function validateSchema(schema: FlowSchema): FieldError[] {
  const { metadata, spec } = schema;
  const { name = "" } = metadata;
  const errors = validateSpec(spec, name);
  const fixed = MANDATORY_FLOW_SCHEMAS.get(name);
  if (fixed !== undefined && !semanticEqual(spec, fixed)) {
    const detail = `spec of '${name}' must equal the fixed value`;
    errors.push(invalid(Path.of("spec"), internalForm(SPEC, spec), detail));
  }
  return [...errors, ...validateStatus(schema)];
}

function validateSpec(spec: FlowSchemaSpec, name: string): FieldError[] {
  const path = Path.of("spec");
  const { matchingPrecedence: precedence, distinguisherMethod } = spec;
  const errors: FieldError[] = [];
  const fault = (detail: string) =>
    errors.push(invalid(path.child("matchingPrecedence"), precedence, detail));
  if (precedence <= 0) fault("must be a positive value");
  if (precedence > PRECEDENCE_MAX) fault(`must not be greater than ${PRECEDENCE_MAX}`);
  if (precedence === 1 && name !== "exempt") {
    fault("only the schema named 'exempt' may have matchingPrecedence 1");
  }
  if (distinguisherMethod !== undefined && !DISTINGUISHERS.includes(distinguisherMethod.type)) {
    const value = internalForm("flowcontrol.v1.FlowDistinguisherMethod", distinguisherMethod);
    errors.push(notSupported(path.child("distinguisherMethod", "type"), value, DISTINGUISHERS));
  }
  const level = spec.priorityLevelConfiguration.name;
  const levelPath = path.child("priorityLevelConfiguration", "name");
  if (level === "") errors.push(required(levelPath, "must reference a priority level"));
  else errors.push(...invalidEach(levelPath, level, isDns1123Subdomain(level)));
  for (const [i, rule] of (spec.rules ?? []).entries()) {
    errors.push(...validateFlowRule(rule, path.child("rules").index(i)));
  }
  return errors;
}
