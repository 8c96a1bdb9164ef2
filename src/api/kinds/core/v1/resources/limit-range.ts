/** v1 LimitRange: bounds and defaults for the resources of what a namespace holds. */

import { createdAtColumn, nameColumn } from "#api/columns.ts";
import type { LimitRange, LimitRangeItem, ResourceList } from "#api/generated/core.v1.ts";
import { type Draft, defineKind } from "#api/kind.ts";
import { quantityMilliValue, quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  required,
} from "#api/validation/field-error.ts";
import { validateFinalizers, validateKubeMeta } from "#api/validation/kube-meta.ts";
import { isQualifiedName, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { compareAmounts } from "./resource-lists.ts";
import {
  isOvercommitAllowed,
  validateContainerResourceName,
  validateResourceName,
} from "./resource-names.ts";
import { roundToMillis } from "./round-resources.ts";

const STANDARD_TYPES = ["Pod", "Container", "PersistentVolumeClaim"];
const LISTS = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const;
/** Thousandths of anything larger do not fit 64 bits. */
const MILLI_VALUE_MAX = Number((2n ** 63n - 1n) / 1000n);

type List = (typeof LISTS)[number];

export const limitRangeKind = defineKind<LimitRange>({
  group: "",
  version: "v1",
  names: { kind: "LimitRange", plural: "limitranges", short: ["limits"] },
  scope: "Namespaced",
  schema: builtInSchema("core.v1.LimitRange"),
  nameRule: nameIsDnsSubdomain,
  createOnUpdate: true,
  unconditionalUpdate: true,

  defaults(draft) {
    for (const limit of draft.spec.limits ?? []) {
      if (limit.type === "Container") defaultLimits(limit);
      for (const list of LISTS) roundToMillis(limit[list]);
    }
  },
  prepareCreate({ metadata }) {
    metadata.name ||= metadata.uid ?? ""; // the one kind that may come without a name
  },
  validate: (limitRange) => [
    ...validateFinalizers(limitRange.metadata),
    ...validateLimits(limitRange),
  ],
  validateUpdate: (next) => [
    ...validateKubeMeta(next.metadata, { namespaced: true, nameRule: nameIsDnsSubdomain }),
    ...validateLimits(next),
  ],

  columns: [nameColumn, createdAtColumn],
});

/** Limits default to the maximum; requests to the limits, then to the minimum. */
function defaultLimits(limit: Draft<LimitRangeItem>): void {
  limit.default = { ...limit.max, ...limit.default };
  limit.defaultRequest = { ...limit.min, ...limit.default, ...limit.defaultRequest };
}

function validateLimits({ spec }: LimitRange): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, limit] of (spec.limits ?? []).entries()) {
    const path = Path.of("spec", "limits").index(i);
    errors.push(...validateType(limit.type, path.child("type")));
    if (seen.has(limit.type)) errors.push(duplicate(path.child("type"), limit.type));
    seen.add(limit.type);
    errors.push(...validateNames(limit, path));
    errors.push(...resourcesOf(limit).flatMap((name) => validateAmounts(limit, name, path)));
  }
  return errors;
}

function validateType(type: string, path: Path): FieldError[] {
  const faults = isQualifiedName(type);
  if (faults.length > 0) return faults.map((fault) => invalid(path, type, fault));
  if (type.includes("/") || STANDARD_TYPES.includes(type)) return [];
  return [invalid(path, type, "must be a standard limit type or fully qualified")];
}

function validateNames(limit: LimitRangeItem, path: Path): FieldError[] {
  const ofContainers = limit.type === "Pod" || limit.type === "Container";
  const validateName = ofContainers ? validateContainerResourceName : validateResourceName;
  const errors: FieldError[] = [];
  for (const list of LISTS) {
    const at = path.child(list);
    if (list === "maxLimitRequestRatio") errors.push(...validateClaimStorage(limit, path));
    const names = Object.keys(limit[list] ?? {});
    if (limit.type === "Pod" && (list === "default" || list === "defaultRequest")) {
      if (names.length === 0) continue;
      errors.push(forbidden(at, "may not be specified when `type` is 'Pod'"));
    } else {
      errors.push(...names.flatMap((name) => validateName(name, at.key(name))));
    }
  }
  return errors;
}

function validateClaimStorage({ type, min, max }: LimitRangeItem, path: Path): FieldError[] {
  if (type !== "PersistentVolumeClaim" || min?.storage || max?.storage) return [];
  const detail = "either minimum or maximum storage value is required, but neither was provided";
  return [required(path.child("limits"), detail)];
}

/** The resources that any of the lists names. A pod's defaults are forbidden, so they do not count. */
function resourcesOf(limit: LimitRangeItem): string[] {
  const lists = LISTS.filter((list) => limit.type !== "Pod" || !list.startsWith("default"));
  return [...new Set(lists.flatMap((list) => Object.keys(limit[list] ?? {})))].sort();
}

/** Which list must not exceed which, whose value is shown, and how the fault is put. */
const ORDERED: readonly [
  lower: List,
  upper: List,
  at: List,
  shown: List,
  lowerName: string,
  upperName: string,
][] = [
  ["min", "max", "min", "min", "min", "max"],
  ["min", "defaultRequest", "defaultRequest", "defaultRequest", "min", "default request"],
  ["defaultRequest", "max", "defaultRequest", "defaultRequest", "default request", "max"],
  [
    "defaultRequest",
    "default",
    "defaultRequest",
    "defaultRequest",
    "default request",
    "default limit",
  ],
  ["min", "default", "default", "min", "min", "default"],
  ["default", "max", "default", "max", "default", "max"],
];

function validateAmounts(limit: LimitRangeItem, name: string, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  const at = (list: List) => path.child(list).key(name);
  const amount = (list: List) => (limit[list] as ResourceList | undefined)?.[name];
  for (const [lower, upper, place, shown, lowerName, upperName] of ORDERED) {
    const [low, high] = [amount(lower), amount(upper)];
    if (low === undefined || high === undefined || compareAmounts(low, high) <= 0) continue;
    const detail = `${lowerName} value ${low} is greater than ${upperName} value ${high}`;
    errors.push(invalid(at(place), amount(shown), detail));
  }
  errors.push(...validateRatio(limit, name, at("maxLimitRequestRatio")));

  const [limited, requested] = [amount("default"), amount("defaultRequest")];
  if (limited === undefined || requested === undefined || isOvercommitAllowed(name)) return errors;
  if (compareAmounts(limited, requested) !== 0) {
    const detail = `default value ${limited} must equal to defaultRequest value ${requested} in ${name}`;
    errors.push(invalid(at("defaultRequest"), requested, detail));
  }
  return errors;
}

function validateRatio(limit: LimitRangeItem, name: string, path: Path): FieldError[] {
  const ratio = limit.maxLimitRequestRatio?.[name];
  if (ratio === undefined) return [];
  const errors: FieldError[] = [];
  if (compareAmounts(ratio, "1") < 0) {
    errors.push(invalid(path, ratio, `ratio ${ratio} is less than 1`));
  }
  const [min, max] = [limit.min?.[name], limit.max?.[name]];
  if (min === undefined || max === undefined) return errors;
  const quantities = [ratio, min, max].map(quantityOf);
  const fine = quantities.every((quantity) => quantityValue(quantity) < MILLI_VALUE_MAX);
  const [ratioValue, minValue, maxValue] = quantities.map(
    fine ? quantityMilliValue : quantityValue,
  ) as [number, number, number];
  const allowed = maxValue / minValue;
  if ((fine ? ratioValue / 1000 : ratioValue) > allowed) {
    const detail = `ratio ${ratio} is greater than max/min = ${allowed.toFixed(6)}`;
    errors.push(invalid(path, ratio, detail));
  }
  return errors;
}
