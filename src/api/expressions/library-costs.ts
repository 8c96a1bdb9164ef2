/** What calls into the libraries of Kubernetes cost. */
import {
  COST_MAX,
  type Estimate,
  fixed,
  LIST_BASE,
  NOTHING,
  ONE,
  plus,
  REGEX_FACTOR,
  STRING_FACTOR,
  STRUCT_BASE,
  scaled,
  times,
  UNKNOWN,
  union,
} from "#api/cel/cost/estimate.ts";
import type { CostNode } from "#api/cel/cost/known-sizes.ts";
import type { CallCost, CostEstimator } from "#api/cel/cost/static-cost.ts";
import { isSameType } from "#api/cel/types/type.ts";

export function kubernetesCosts(size: CostEstimator["size"]): CostEstimator {
  const sizeOf = (node: CostNode) => node.size ?? size(node) ?? UNKNOWN;
  const elementOf = ({ type, path }: CostNode): CostNode | undefined => {
    const [element] = type.params;
    if (element === undefined) return undefined;
    const inner = path.length === 0 ? [] : [...path, "@items"];
    return { type: element, path: inner, expr: undefined, size: undefined };
  };
  return {
    size,
    call: (name, overload, target, args) => {
      if (CHEAP_CALLS.has(name) || overload === "cidr_ip") return { cost: ONE };
      const cost = Object.hasOwn(COSTS, name) ? COSTS[name] : undefined;
      return cost?.({ target, args, overload, sizeOf, elementOf });
    },
  };
}

interface Call {
  readonly target: CostNode | undefined;
  readonly args: readonly CostNode[];
  readonly overload: string;
  readonly sizeOf: (node: CostNode) => Estimate;
  readonly elementOf: (node: CostNode) => CostNode | undefined;
}

/** One step, whatever the operands. */
export const CHEAP_CALLS = new Set(
  (
    "serviceAccount path group resource subresource namespace name allowed reason error errored " +
    "masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast " +
    "isGlobalUnicast format.named sign asInteger isInteger asApproximateFloat isGreaterThan " +
    "isLessThan compareTo add sub major minor patch getScheme getHostname getHost getPort " +
    "getEscapedPath getQuery"
  ).split(" "),
);
export const AUTHORIZATION_COST = 350_000;
const NAME_FORMAT_REGEX_SIZE = 128;
const FORMAT_SIZE = 64;
const IP_BYTES: Estimate = { min: 4, max: 16 };

const COSTS: Readonly<Record<string, (call: Call) => CallCost | undefined>> = {
  check: () => ({ cost: fixed(AUTHORIZATION_COST) }),
  fieldSelector: selectorCost,
  labelSelector: selectorCost,
  isSorted: traversal,
  sum: traversal,
  max: traversal,
  min: traversal,
  indexOf: traversal,
  lastIndexOf: traversal,
  url: readArgument(true),
  "jsonpatch.escapeKey": readArgument(true),
  lowerAscii: readTarget,
  upperAscii: readTarget,
  substring: readTarget,
  trim: readTarget,
  replace: replaceCost,
  split: ({ target, args, sizeOf }) => {
    if (target === undefined) return undefined;
    const size = sizeOf(target);
    const limit = args[1]?.expr;
    const isWritten = limit?.kind === "constant" && limit.constant.type === "int";
    const max = isWritten ? Number(BigInt.asUintN(64, limit.constant.value)) : size.max;
    return { cost: scaled(size, 2 * STRING_FACTOR), resultSize: { min: 0, max } };
  },
  join: joinCost,
  find: findCost,
  findAll: findCost,
  cidr: readArgument(false),
  isIP: readArgument(false),
  isCIDR: readArgument(false),
  ip: readArgument(false),
  quantity: readArgument(false),
  isQuantity: readArgument(false),
  semver: readArgument(false),
  isSemver: readArgument(false),
  "ip.isCanonical": ({ args: [text], sizeOf }) => ({
    cost: scaled(sizeOf(text!), 2 * STRING_FACTOR),
  }),
  containsIP: ({ args: [other], overload, sizeOf }) => {
    const compared = scaled(plus(IP_BYTES, IP_BYTES), STRING_FACTOR);
    if (overload !== "cidr_contains_ip_string") return { cost: compared };
    return { cost: plus(compared, scaled(sizeOf(other!), STRING_FACTOR)) };
  },
  containsCIDR: ({ args: [other], overload, sizeOf }) => {
    const compared = scaled(plus(IP_BYTES, IP_BYTES), STRING_FACTOR);
    const masked = plus(plus(compared, scaled(IP_BYTES, STRING_FACTOR)), ONE);
    if (overload !== "cidr_contains_cidr_string") return { cost: masked };
    return { cost: plus(masked, scaled(sizeOf(other!), STRING_FACTOR)) };
  },
  validate: ({ args: [text], sizeOf }) => {
    const read = scaled(sizeOf(text!), STRING_FACTOR);
    return { cost: scaled(read, NAME_FORMAT_REGEX_SIZE * REGEX_FACTOR) };
  },
  "_==_": equalityCost,
};

function selectorCost({ args: [selector], sizeOf }: Call): CallCost {
  const length = sizeOf(selector!);
  const requirements = scaled(scaled(length, 0.5), LIST_BASE + STRUCT_BASE);
  return { cost: plus(plus(fixed(LIST_BASE), scaled(length, STRING_FACTOR)), requirements) };
}

function traversal({ target, sizeOf, elementOf }: Call): CallCost | undefined {
  if (target === undefined) return undefined;
  const element = elementOf(target);
  const size = sizeOf(target);
  if (element === undefined) return { cost: scaled(size, STRING_FACTOR) };
  const { kind } = element.type;
  const isText = kind === "string" || kind === "bytes";
  const each = isText ? plus(ONE, scaled(sizeOf(element), STRING_FACTOR)) : ONE;
  return { cost: times(size, each) };
}

function readArgument(keepsSize: boolean) {
  return ({ args: [text], sizeOf }: Call): CallCost | undefined => {
    if (text === undefined) return undefined;
    const size = sizeOf(text);
    const cost = scaled(size, STRING_FACTOR);
    return keepsSize ? { cost, resultSize: size } : { cost };
  };
}

function readTarget({ target, sizeOf }: Call): CallCost | undefined {
  if (target === undefined) return undefined;
  const size = sizeOf(target);
  return { cost: scaled(size, STRING_FACTOR), resultSize: size };
}

function replaceCost({ target, args: [from, to], sizeOf }: Call): CallCost | undefined {
  if (target === undefined || from === undefined || to === undefined) return undefined;
  const text = sizeOf(target);
  const old = sizeOf(from);
  const fresh = sizeOf(to);
  const most = (): [count: number, kept: number] => {
    if (old.min === 0) return [Math.min(text.max + 1, COST_MAX), text.max];
    if (fresh.max <= old.min) return [0, text.max];
    return [Math.ceil(text.max / old.min), 0];
  };
  const least = (): [count: number, kept: number] => {
    if (old.max === 0) return [Math.min(text.min + 1, COST_MAX), text.min];
    if (old.max <= fresh.min) return [0, text.min];
    return [Math.ceil(text.min / old.max), 0];
  };
  const [countMax, keptMax] = most();
  const [countMin, keptMin] = least();
  const replaced = times({ min: countMin, max: countMax }, fresh);
  const resultSize = plus(replaced, { min: keptMin, max: keptMax });
  return { cost: scaled(text, 2 * STRING_FACTOR), resultSize };
}

function joinCost({ target, args: [separator], sizeOf, elementOf }: Call): CallCost | undefined {
  if (target === undefined) return undefined;
  const count = sizeOf(target);
  const element = elementOf(target);
  let size = element === undefined ? NOTHING : times(count, sizeOf(element));
  if (separator !== undefined) {
    const between = { min: Math.max(count.min - 1, 0), max: Math.max(count.max - 1, 0) };
    size = plus(size, times(sizeOf(separator), between));
  }
  return { cost: scaled(size, STRING_FACTOR), resultSize: size };
}

function findCost({ target, args: [pattern], sizeOf }: Call): CallCost | undefined {
  if (target === undefined) return undefined;
  const size = sizeOf(target);
  const text = scaled(plus(size, ONE), STRING_FACTOR);
  const cost = times(text, scaled(sizeOf(pattern!), REGEX_FACTOR));
  return { cost, resultSize: { min: 0, max: size.max } };
}

const COMPARED_AT_ONCE = new Set([
  "net.IP",
  "net.CIDR",
  "kubernetes.Quantity",
  "kubernetes.Semver",
  "kubernetes.authorization.Authorizer",
  "kubernetes.authorization.PathCheck",
  "kubernetes.authorization.GroupCheck",
  "kubernetes.authorization.ResourceCheck",
  "kubernetes.authorization.Decision",
]);

function equalityCost({ args: [left, right] }: Call): CallCost | undefined {
  if (left === undefined || right === undefined) return undefined;
  if (!isSameType(left.type, right.type)) return undefined;
  const { name } = left.type;
  if (COMPARED_AT_ONCE.has(name)) return { cost: ONE };
  if (name === "kubernetes.NamedFormat") {
    return { cost: scaled({ min: 1, max: FORMAT_SIZE }, STRING_FACTOR) };
  }
  if (name !== "kubernetes.URL") return undefined;
  const size = right.size === undefined ? ONE : union(right.size, right.size);
  return { cost: scaled({ min: 1, max: size.max }, STRING_FACTOR) };
}
