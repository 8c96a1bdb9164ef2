/** resource.k8s.io DeviceTaintRule: an administrator's taint on devices. */

import { STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { ageColumn, ageOf, nameColumn } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import { keepFields, keepMetadata } from "#api/draft.ts";
import type {
  DeviceTaintRule,
  DeviceTaintRuleSpec,
  DeviceTaintSelector,
} from "#api/generated/resource.v1alpha3.ts";
import { defineKind, type KindSpec } from "#api/kind.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { validateConditions } from "#api/validation/conditions.ts";
import { type FieldError, tooMany } from "#api/validation/field-error.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { alsoServedAs } from "#api/versions.ts";
import { deprecationOf } from "../deprecation.ts";
import { validateDriverName, validateLabelName, validatePoolName } from "../v1/device-names.ts";
import { validateTaint } from "../v1/device-parts.ts";

const CONDITIONS_MAX = 8;
const TAINT = "resource.v1.DeviceTaint";

/** Stored in its alpha version. */
const spec: KindSpec<DeviceTaintRule> = {
  group: "resource.k8s.io",
  version: "v1alpha3",
  names: { kind: "DeviceTaintRule", plural: "devicetaintrules" },
  scope: "Cluster",
  schema: builtInSchema("resource.v1alpha3.DeviceTaintRule"),
  resetFields: STATUS_RESETS_METADATA,
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsSubdomain,
  generation: true,
  unconditionalUpdate: true,
  prepareCreate: (draft, { nowMs }) => {
    draft.status = {};
    draft.spec.taint.timeAdded ??= timeFromMs(nowMs);
  },
  prepareUpdate: (draft, old, { nowMs }) => {
    keepFields(draft, old, "status");
    const { taint } = draft.spec;
    const before = old.spec.taint;
    taint.timeAdded ??= timeFromMs(nowMs);
    // A new effect starts a new time, unless the writer gave one.
    if (taint.effect !== before.effect && taint.timeAdded === before.timeAdded) {
      taint.timeAdded = timeFromMs(nowMs);
    }
  },
  validate: ({ metadata, spec }) => [
    ...validateFinalizers(metadata),
    ...validateSpec(spec, undefined),
  ],
  validateUpdate: (rule, old) => [
    ...validateKubeMetaUpdate(rule, old),
    ...validateSpec(rule.spec, old.spec),
  ],
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        keepFields(draft, old, "spec");
        keepMetadata(draft, old);
      },
      validateUpdate: (rule, old) => {
        const conditions = rule.status.conditions ?? [];
        const path = Path.of("status", "conditions");
        const errors = [
          ...validateKubeMetaUpdate(rule, old),
          ...validateConditions(conditions, path),
        ];
        if (conditions.length <= CONDITIONS_MAX) return errors;
        return [...errors, tooMany(path, conditions.length, CONDITIONS_MAX)];
      },
    },
  },
  columns: [
    nameColumn,
    {
      name: "Key",
      type: "string",
      describedBy: `${TAINT}.key`,
      cell: ({ spec }) => spec.taint.key,
    },
    {
      name: "Value",
      type: "string",
      describedBy: `${TAINT}.value`,
      cell: ({ spec }) => spec.taint.value ?? "",
    },
    {
      name: "Effect",
      type: "string",
      describedBy: `${TAINT}.effect`,
      cell: ({ spec }) => spec.taint.effect,
    },
    {
      name: "TimeAdded",
      type: "string",
      describedBy: `${TAINT}.timeAdded`,
      cell: ({ spec: { taint } }, nowMs) =>
        taint.timeAdded === undefined ? "" : ageOf(taint.timeAdded, nowMs),
    },
    ageColumn,
  ],
};

export const deviceTaintRuleV1alpha3Kind = defineKind({
  ...spec,
  deprecation: deprecationOf("v1alpha3", "DeviceTaintRule"),
});
export const deviceTaintRuleV1beta2Kind = alsoServedAs(
  spec,
  "v1beta2",
  "resource.v1beta2.DeviceTaintRule",
);

function validateSpec(
  { deviceSelector = {}, taint }: DeviceTaintRuleSpec,
  old: DeviceTaintRuleSpec | undefined,
): FieldError[] {
  const path = Path.of("spec");
  return [
    ...validateSelector(deviceSelector, path.child("deviceSelector")),
    ...validateTaint(taint, old?.taint, path.child("taint")),
  ];
}

function validateSelector({ driver, pool, device }: DeviceTaintSelector, path: Path): FieldError[] {
  return [
    ...(driver === undefined ? [] : validateDriverName(driver, path.child("driver"))),
    ...(pool === undefined ? [] : validatePoolName(pool, path.child("pool"))),
    ...(device === undefined ? [] : validateLabelName(device, path.child("device"))),
  ];
}
