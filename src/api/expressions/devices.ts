/** Selectors of devices in resource claims and classes. */
import { staticCost } from "#api/cel/cost/static-cost.ts";
import { compile, extendEnvironment, withLibraries } from "#api/cel/environment.ts";
import { BIND_MACRO } from "#api/cel/syntax/macros.ts";
import { ANY, BOOL, objectType, STRING } from "#api/cel/types/type.ts";
import type { ExpressionFault } from "#api/expressions.ts";
import { plainName } from "./admission.ts";
import { BASE_ENVIRONMENT } from "./base-environment.ts";
import { declaredMap, declaredObject, simpleType, sizesIn, typesIn } from "./declared-type.ts";
import { kubernetesCosts } from "./library-costs.ts";

const COST_LIMIT = 1_000_000;
const ENTRIES_MAX = 32;

const DOMAIN = simpleType(STRING, 2, 63);
const ID = simpleType(STRING, 2, 32);
const ATTRIBUTE = simpleType(ANY, 1, 64);
const QUANTITY = simpleType(objectType("kubernetes.Quantity"), 8);
const DEVICE = declaredObject(
  "kubernetes.DRADevice",
  new Map([
    ["driver", simpleType(STRING, 2, 63)],
    ["allowMultipleAllocations", simpleType(BOOL, 4, 1)],
    ["attributes", byDomain(ATTRIBUTE)],
    ["capacity", byDomain(QUANTITY)],
  ]),
);

const ENVIRONMENT = extendEnvironment(
  withLibraries(BASE_ENVIRONMENT, [{ functions: {}, macros: [BIND_MACRO] }]),
  { device: DEVICE.type },
  typesIn(DEVICE),
);

/** Attributes are also read as fields of their domain, which have no declaration of their own. */
const COSTS = kubernetesCosts(
  sizesIn(
    (variable) => (variable === "device" ? DEVICE : undefined),
    ({ element }) => (element === ATTRIBUTE ? ATTRIBUTE : undefined),
  ),
);

export function deviceFaults(expression: string): ExpressionFault[] {
  const compiled = compile(ENVIRONMENT, expression);
  if (!compiled.ok) {
    return [{ type: "invalid", detail: `compilation failed: ${compiled.error}` }];
  }
  const { expr, checked, type } = compiled.value;
  if (type !== BOOL && type !== ANY) {
    const detail = `must evaluate to bool or the unknown type, not ${plainName(type)}`;
    return [{ type: "invalid", detail }];
  }
  if (staticCost(expr, checked, COSTS).max <= COST_LIMIT) return [];
  return [{ type: "forbidden", detail: "too complex, exceeds cost limit" }];
}

function byDomain(value: typeof ATTRIBUTE) {
  return declaredMap(DOMAIN, declaredMap(ID, value, ENTRIES_MAX), ENTRIES_MAX);
}
