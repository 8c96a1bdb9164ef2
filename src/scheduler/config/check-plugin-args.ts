/**
 * The arguments of the built-in plugins in `pluginConfig`: defaults and checks, with upstream's
 * texts. Arguments of other plugins are not checked.
 */
import { parseDuration } from "#api/meta/duration.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { validateLabelName } from "#api/validation/labels.ts";
import type { Path } from "#api/validation/path.ts";
import { checkAddedAffinity } from "./check-added-affinity.ts";
import { type Json, listOf, objectOf } from "./json-values.ts";

/** Fills in the defaults of one plugin's arguments. */
export function defaultPluginArgs(plugin: string, args: unknown): unknown {
  const defaults = DEFAULTS.get(plugin);
  return defaults === undefined ? args : defaults(objectOf(args));
}

/** What is wrong with the arguments of one plugin, after defaults. */
export function checkPluginArgs(plugin: string, args: unknown, path: Path): readonly FieldError[] {
  return CHECKS.get(plugin)?.(objectOf(args), path) ?? [];
}

const DEFAULT_RESOURCES: readonly Json[] = [
  { name: "cpu", weight: 1 },
  { name: "memory", weight: 1 },
];
const STRATEGIES = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];
const SHAPE_SCORE_MAX = 10;
const BINDING_TIMEOUT_MIN_MS = 1_000;

const DEFAULTS = new Map<string, (args: Json) => Json>([
  [
    "DefaultPreemption",
    (args) => ({ minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100, ...args }),
  ],
  ["InterPodAffinity", (args) => ({ hardPodAffinityWeight: 1, ...args })],
  ["NodeResourcesBalancedAllocation", (args) => ({ ...args, resources: resourcesOf(args) })],
  [
    "NodeResourcesFit",
    (args) => {
      const given = args.scoringStrategy;
      const strategy = given === undefined ? { type: "LeastAllocated" } : objectOf(given);
      return { ...args, scoringStrategy: { ...strategy, resources: resourcesOf(strategy) } };
    },
  ],
  [
    "PodTopologySpread",
    (args) => ({ ...args, defaultingType: textOf(args.defaultingType) || "System" }),
  ],
  ["VolumeBinding", (args) => ({ bindTimeoutSeconds: 600, ...args })],
]);

const CHECKS = new Map<string, (args: Json, path: Path) => readonly FieldError[]>([
  ["DefaultPreemption", checkDefaultPreemption],
  ["DynamicResources", checkDynamicResources],
  ["InterPodAffinity", checkInterPodAffinity],
  ["NodeAffinity", checkAddedAffinity],
  ["NodeResourcesBalancedAllocation", checkBalancedAllocation],
  ["NodeResourcesFit", checkNodeResourcesFit],
  ["PodTopologySpread", checkPodTopologySpread],
  ["VolumeBinding", checkVolumeBinding],
]);

function resourcesOf({ resources }: Json): readonly Json[] {
  const list = listOf(resources);
  if (list.length === 0) return DEFAULT_RESOURCES;
  return list.map((one) => {
    const spec = objectOf(one);
    return { ...spec, weight: numberOf(spec.weight) || 1 };
  });
}

function checkDefaultPreemption(args: Json, path: Path): readonly FieldError[] {
  const errors: FieldError[] = [];
  const percentageAt = path.child("minCandidateNodesPercentage");
  const absoluteAt = path.child("minCandidateNodesAbsolute");
  const percentage = numberOf(args.minCandidateNodesPercentage);
  const absolute = numberOf(args.minCandidateNodesAbsolute);
  if (percentage < 0 || percentage > 100) {
    errors.push(invalid(percentageAt, percentage, "not in valid range [0, 100]"));
  }
  if (absolute < 0) errors.push(invalid(absoluteAt, absolute, "not in valid range [0, inf)"));
  if (percentage === 0 && absolute === 0) {
    const text = "cannot be zero at the same time as";
    errors.push(invalid(percentageAt, percentage, `${text} minCandidateNodesAbsolute`));
    errors.push(invalid(absoluteAt, absolute, `${text} minCandidateNodesPercentage`));
  }
  return errors;
}

function checkDynamicResources(args: Json, path: Path): readonly FieldError[] {
  const errors: FieldError[] = [];
  const filter = durationMs(args.filterTimeout);
  if (filter !== undefined && filter < 0) {
    errors.push(
      invalid(path.child("filterTimeout"), args.filterTimeout, "must be zero or positive"),
    );
  }
  const binding = durationMs(args.bindingTimeout);
  if (binding !== undefined && binding < BINDING_TIMEOUT_MIN_MS) {
    const text = "must be at least 1 second";
    errors.push(invalid(path.child("bindingTimeout"), args.bindingTimeout, text));
  }
  return errors;
}

function checkInterPodAffinity(args: Json, path: Path): readonly FieldError[] {
  const weight = numberOf(args.hardPodAffinityWeight);
  if (weight >= 0 && weight <= 100) return [];
  return [invalid(path.child("hardPodAffinityWeight"), weight, "not in valid range [0, 100]")];
}

function checkBalancedAllocation(args: Json, path: Path): readonly FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, one] of listOf(args.resources).entries()) {
    const at = path.child("resources").index(index);
    const spec = objectOf(one);
    const name = textOf(spec.name);
    if (seen.has(name)) errors.push(duplicate(at.child("name"), name));
    seen.add(name);
    if (spec.weight !== 1) errors.push(invalid(at.child("weight"), spec.weight, "must be 1"));
  }
  return errors;
}

function checkNodeResourcesFit(args: Json, path: Path): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, one] of listOf(args.ignoredResources).entries()) {
    errors.push(...validateLabelName(textOf(one), path.child("ignoredResources").index(index)));
  }
  for (const [index, one] of listOf(args.ignoredResourceGroups).entries()) {
    const at = path.child("ignoredResourceGroups").index(index);
    const group = textOf(one);
    if (group.includes("/")) {
      errors.push(invalid(at, group, "resource group name can't contain '/'"));
    }
    errors.push(...validateLabelName(group, at));
  }
  const at = path.child("scoringStrategy");
  const { type, resources, requestedToCapacityRatio: ratio } = objectOf(args.scoringStrategy);
  if (!STRATEGIES.includes(textOf(type))) {
    errors.push(notSupported(at.child("type"), textOf(type), STRATEGIES));
  }
  for (const [index, one] of listOf(resources).entries()) {
    const { name, weight } = objectOf(one);
    if (numberOf(weight) > 0 && numberOf(weight) <= 100) continue;
    const text = `resource weight of ${textOf(name)} not in valid range (0, 100]`;
    errors.push(invalid(at.child("resources").index(index).child("weight"), weight, text));
  }
  const ratioAt = at.child("requestedToCapacityRatio");
  if (type !== "RequestedToCapacityRatio") {
    const text = "must be nil when type is not RequestedToCapacityRatio";
    if (ratio !== undefined) errors.push(forbidden(ratioAt, text));
  } else if (ratio === undefined) {
    errors.push(required(ratioAt, "must be specified when type is RequestedToCapacityRatio"));
  } else errors.push(...checkShape(objectOf(ratio).shape, ratioAt.child("shape")));
  return errors;
}

function checkShape(value: unknown, path: Path): readonly FieldError[] {
  const shape = listOf(value).map(objectOf);
  if (shape.length === 0) return [required(path, "at least one point must be specified")];
  const errors: FieldError[] = [];
  const utilizations = shape.map(({ utilization }) => numberOf(utilization));
  const unsorted = utilizations.findIndex((own, i) => i > 0 && utilizations[i - 1]! >= own);
  if (unsorted >= 0) {
    const text = "values must be sorted in increasing order";
    errors.push(invalid(path.index(unsorted).child("utilization"), utilizations[unsorted], text));
  }
  for (const [index, point] of shape.entries()) {
    const utilization = utilizations[index]!;
    if (utilization < 0 || utilization > 100) {
      const at = path.index(index).child("utilization");
      errors.push(invalid(at, utilization, "not in valid range [0, 100]"));
    }
    const score = numberOf(point.score);
    if (score < 0 || score > SHAPE_SCORE_MAX) {
      const text = `not in valid range [0, ${SHAPE_SCORE_MAX}]`;
      errors.push(invalid(path.index(index).child("score"), score, text));
    }
  }
  return errors;
}

function checkPodTopologySpread(args: Json, path: Path): readonly FieldError[] {
  const errors: FieldError[] = [];
  const constraints = listOf(args.defaultConstraints).map(objectOf);
  const type = textOf(args.defaultingType);
  const typeAt = path.child("defaultingType");
  if (type !== "System" && type !== "List") {
    errors.push(notSupported(typeAt, type, ["System", "List"]));
  } else if (type === "System" && constraints.length > 0) {
    errors.push(invalid(typeAt, type, "when .defaultConstraints are not empty"));
  }
  const seen = new Set<string>();
  for (const [index, constraint] of constraints.entries()) {
    const at = path.child("defaultConstraints").index(index);
    errors.push(...checkConstraint(constraint, at));
    const key = `{${textOf(constraint.topologyKey)}, ${textOf(constraint.whenUnsatisfiable)}}`;
    if (seen.has(key)) errors.push(duplicate(at, key));
    seen.add(key);
  }
  return errors;
}

function checkConstraint(constraint: Json, path: Path): readonly FieldError[] {
  const errors: FieldError[] = [];
  const skew = numberOf(constraint.maxSkew);
  const key = textOf(constraint.topologyKey);
  const action = textOf(constraint.whenUnsatisfiable);
  const actions = ["DoNotSchedule", "ScheduleAnyway"];
  if (skew <= 0) errors.push(invalid(path.child("maxSkew"), skew, "not in valid range (0, inf)"));
  const keyAt = path.child("topologyKey");
  if (key === "") errors.push(required(keyAt, "can not be empty"));
  else errors.push(...validateLabelName(key, keyAt));
  const actionAt = path.child("whenUnsatisfiable");
  if (action === "") errors.push(required(actionAt, "can not be empty"));
  else if (!actions.includes(action)) errors.push(notSupported(actionAt, action, actions));
  if (constraint.labelSelector !== undefined) {
    const text = "constraint must not define a selector, as they deduced for each pod";
    errors.push(forbidden(path.child("labelSelector"), text));
  }
  return errors;
}

function checkVolumeBinding(args: Json, path: Path): readonly FieldError[] {
  const errors: FieldError[] = [];
  const seconds = numberOf(args.bindTimeoutSeconds);
  if (seconds < 0) {
    const text = "invalid BindTimeoutSeconds, should not be a negative value";
    errors.push(invalid(path.child("bindTimeoutSeconds"), seconds, text));
  }
  if (args.shape !== undefined) {
    const text =
      "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring";
    errors.push(invalid(path.child("shape"), shapeOf(args.shape), text));
  }
  return errors;
}

/** The points as Go prints them: its type has no JSON names. */
function shapeOf(shape: unknown): readonly unknown[] {
  return listOf(shape).map((one) => {
    const { utilization, score } = objectOf(one);
    return { Utilization: numberOf(utilization), Score: numberOf(score) };
  });
}

/** Undefined if it is not given or is no duration. */
function durationMs(value: unknown): number | undefined {
  if (typeof value !== "string") return undefined;
  const parsed = parseDuration(value);
  return parsed.ok ? Number(parsed.nanos) / 1e6 : undefined;
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
