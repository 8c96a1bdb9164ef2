/** scheduling.k8s.io/v1 PriorityClass. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import type { PriorityClass } from "#api/generated/scheduling.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, forbidden, notSupported, required } from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import { METADATA, validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";

const SYSTEM_PREFIX = "system-";
const VALUE_USER_MAX = 1_000_000_000; // above it is the system's own range
const SYSTEM_VALUES: ReadonlyMap<string, number> = new Map([
  ["system-node-critical", 2_000_001_000],
  ["system-cluster-critical", 2_000_000_000],
]);
const PREEMPTION_POLICIES = ["PreemptLowerPriority", "Never"];

export const priorityClassKind = defineKind<PriorityClass>({
  group: "scheduling.k8s.io",
  version: "v1",
  names: { kind: "PriorityClass", plural: "priorityclasses", short: ["pc"] },
  scope: "Cluster",
  schema: builtInSchema("scheduling.v1.PriorityClass"),
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  deletion: {
    refusal: (name) =>
      SYSTEM_VALUES.has(name) ? "this is a system priority class and cannot be deleted" : undefined,
  },

  defaults(draft) {
    draft.preemptionPolicy ??= "PreemptLowerPriority";
  },
  prepareCreate({ metadata }) {
    metadata.generation = 1;
  },
  validate: (priority) => [...validateFinalizers(priority.metadata), ...validateValue(priority)],
  validateUpdate: (next, old) => [
    ...validateKubeMetaUpdate(next, old),
    ...(next.value === old.value
      ? []
      : [forbidden(Path.of("value"), "may not be changed in an update.")]),
    ...validateImmutableField(
      next.preemptionPolicy,
      old.preemptionPolicy,
      Path.of("preemptionPolicy"),
    ),
  ],

  columns: [
    nameColumn,
    {
      name: "Value",
      type: "integer",
      describedBy: "scheduling.v1.PriorityClass.value",
      cell: ({ value }) => value,
    },
    {
      name: "Global-Default",
      type: "boolean",
      describedBy: "scheduling.v1.PriorityClass.globalDefault",
      cell: ({ globalDefault }) => globalDefault ?? false,
    },
    ageColumn,
    {
      name: "PreemptionPolicy",
      type: "string",
      describedBy: "scheduling.v1.PriorityClass.preemptionPolicy",
      cell: ({ preemptionPolicy }) => preemptionPolicy ?? "",
    },
  ],
});

function validateValue({ metadata, value, globalDefault, preemptionPolicy }: PriorityClass) {
  const name = metadata.name ?? "";
  const errors: FieldError[] = [];
  if (name.startsWith(SYSTEM_PREFIX)) {
    const fault = systemClassFault(name, value, globalDefault ?? false);
    if (fault !== undefined) {
      const detail = `priority class names with '${SYSTEM_PREFIX}' prefix are reserved for system use only. error: ${fault}`;
      errors.push(forbidden(METADATA.child("name"), detail));
    }
  } else if (value > VALUE_USER_MAX) {
    const detail = `maximum allowed value of a user defined priority is ${VALUE_USER_MAX}`;
    errors.push(forbidden(Path.of("value"), detail));
  }
  const path = Path.of("preemptionPolicy");
  if (preemptionPolicy === "") errors.push(required(path, ""));
  else if (preemptionPolicy !== undefined && !PREEMPTION_POLICIES.includes(preemptionPolicy)) {
    errors.push(notSupported(path, preemptionPolicy, PREEMPTION_POLICIES));
  }
  return errors;
}

function systemClassFault(name: string, value: number, globalDefault: boolean): string | undefined {
  const wanted = SYSTEM_VALUES.get(name);
  if (wanted === undefined) return `${name} is not a known system priority class`;
  if (value !== wanted) return `value of ${name} PriorityClass must be ${wanted}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}
