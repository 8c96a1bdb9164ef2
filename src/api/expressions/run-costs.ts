/** What calls into the libraries of Kubernetes cost when they run. */

import { LIST_BASE, REGEX_FACTOR, STRING_FACTOR, STRUCT_BASE } from "#api/cel/cost/estimate.ts";
import { type CallCosts, read, size, traversal } from "#api/cel/evaluate/call-cost.ts";
import { CelObject, type Value } from "#api/cel/values/value.ts";
import { AUTHORIZATION_COST, CHEAP_CALLS } from "./library-costs.ts";

const NAME_FORMAT_REGEX_SIZE = 128;
const IP_BYTES_MAX = 16;

export const kubernetesCallCosts: CallCosts = (name, overload, args, result) => {
  if (CHEAP_CALLS.has(name) || overload === "cidr_ip") return 1;
  const [a = null, b = null] = args;
  switch (name) {
    case "check":
      return AUTHORIZATION_COST;
    case "fieldSelector":
    case "labelSelector":
      return LIST_BASE + read(size(b)) + Math.ceil(size(b) * 0.5) * (LIST_BASE + STRUCT_BASE);
    case "isSorted":
    case "sum":
    case "max":
    case "min":
    case "indexOf":
    case "lastIndexOf":
      return traversal(a);
    case "replace":
    case "split":
    case "ip.isCanonical":
      return twice(a);
    case "join":
      return twice(result);
    case "find":
    case "findAll":
      return read(size(a) + 1) * Math.ceil(size(b) * REGEX_FACTOR);
    case "containsIP":
      return read(2 * IP_BYTES_MAX) + (overload === "cidr_contains_ip_string" ? read(size(b)) : 0);
    case "containsCIDR": {
      const other = overload === "cidr_contains_cidr_string" ? read(size(b)) : 0;
      return read(2 * IP_BYTES_MAX) + read(IP_BYTES_MAX) + 1 + other;
    }
    case "validate":
      return read(size(b) + 1) * Math.ceil(NAME_FORMAT_REGEX_SIZE * REGEX_FACTOR);
    case "_==_":
      return a instanceof CelObject ? 1 : undefined;
    default:
      return READING.has(name) ? read(size(a)) : undefined;
  }
};

/** Those that read their first operand once. */
const READING = new Set(
  (
    "url lowerAscii upperAscii substring trim jsonpatch.escapeKey cidr isIP isCIDR ip quantity " +
    "isQuantity semver isSemver"
  ).split(" "),
);

function twice(value: Value): number {
  return Math.ceil(size(value) * 2 * STRING_FACTOR);
}
