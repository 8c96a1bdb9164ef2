/** Selectors of devices in resource claims and classes. */

import { staticCost } from "#api/cel/cost/static-cost.ts";
import { compile, extendEnvironment, withLibraries } from "#api/cel/environment.ts";
import { createProgram } from "#api/cel/evaluate/program.ts";
import { BIND_MACRO } from "#api/cel/syntax/macros.ts";
import { ANY, BOOL, objectType, STRING } from "#api/cel/types/type.ts";
import { CelError, CelMap, CelObject, EntryMap, type Value } from "#api/cel/values/value.ts";
import type { ExpressionFault } from "#api/expressions.ts";
import type { Device, DeviceAttribute } from "#api/generated/resource.v1.ts";
import { lazy } from "#lib/lazy.ts";
import { plainName } from "./admission.ts";
import { baseEnvironment } from "./base-environment.ts";
import { declaredMap, declaredObject, simpleType, sizesIn, typesIn } from "./declared-type.ts";
import { quantityAsValue } from "./libraries/quantities.ts";
import { versionAsValue } from "./libraries/semantic-versions.ts";
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

const environment = lazy(() =>
  extendEnvironment(
    withLibraries(baseEnvironment(), [{ functions: {}, macros: [BIND_MACRO] }]),
    { device: DEVICE.type },
    typesIn(DEVICE),
  ),
);

/** Attributes are also read as fields of their domain, which have no declaration of their own. */
const COSTS = kubernetesCosts(
  sizesIn(
    (variable) => (variable === "device" ? DEVICE : undefined),
    ({ element }) => (element === ATTRIBUTE ? ATTRIBUTE : undefined),
  ),
);

export function deviceFaults(expression: string): ExpressionFault[] {
  const compiled = compile(environment(), expression);
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

/** What a selector sees of a device. */
export interface SelectableDevice {
  readonly driver: string;
  readonly device: Pick<Device, "attributes" | "capacity" | "allowMultipleAllocations">;
}

export type DeviceMatcher = (
  device: SelectableDevice,
) =>
  | { readonly ok: true; readonly matches: boolean }
  | { readonly ok: false; readonly error: string };

/** Compiles a selector; the error of one that cannot be compiled comes with every device. */
export function deviceMatcher(expression: string): DeviceMatcher {
  const compiled = compile(environment(), expression);
  if (!compiled.ok) return () => ({ ok: false, error: `CEL compile error: ${compiled.error}` });
  const program = createProgram(environment(), compiled.value, { costMax: COST_LIMIT });
  return (device) => {
    const value = new DeviceValue(device);
    const result = program.evaluate({ find: (name) => (name === "device" ? value : undefined) });
    if (!result.ok) return { ok: false, error: `CEL runtime error: ${result.error}` };
    if (typeof result.value === "boolean") return { ok: true, matches: result.value };
    return { ok: false, error: "CEL runtime error: the result is not a boolean" };
  };
}

class DeviceValue extends CelObject {
  readonly type = DEVICE.type;
  readonly #fields: ReadonlyMap<string, Value>;

  constructor({ driver, device }: SelectableDevice) {
    super();
    const { attributes = {}, capacity = {}, allowMultipleAllocations = false } = device;
    this.#fields = new Map<string, Value>([
      ["driver", driver],
      ["allowMultipleAllocations", allowMultipleAllocations],
      ["attributes", new DomainMap(driver, attributes, attributeValue)],
      ["capacity", new DomainMap(driver, capacity, ({ value }) => quantityAsValue(value))],
    ]);
  }

  override field(name: string): Value | undefined {
    const value = this.#fields.get(name);
    if (value === undefined) throw new CelError(`no such key: ${name}`);
    return value;
  }

  equals(other: CelObject): boolean {
    return other === this;
  }
}

/** Names by domain. Names without a domain belong to the driver's; other domains are empty. */
class DomainMap<T> extends CelMap {
  readonly #domains = new Map<string, [string, Value][]>();

  constructor(driver: string, named: Readonly<Record<string, T>>, asValue: (one: T) => Value) {
    super();
    for (const [qualified, one] of Object.entries(named)) {
      const slash = qualified.indexOf("/");
      const domain = slash < 0 ? driver : qualified.slice(0, slash);
      const entries = this.#domains.get(domain) ?? [];
      entries.push([qualified.slice(slash + 1), asValue(one)]);
      this.#domains.set(domain, entries);
    }
  }

  get size(): number {
    return this.#domains.size;
  }

  find(key: Value): Value | undefined {
    return typeof key === "string" ? new EntryMap(this.#domains.get(key) ?? []) : undefined;
  }

  keys(): Iterable<Value> {
    return this.#domains.keys();
  }
}

function attributeValue({ int, bool, string, version }: DeviceAttribute): Value {
  if (int !== undefined) return BigInt(int);
  if (bool !== undefined) return bool;
  if (version !== undefined) return versionAsValue(version);
  return string ?? "";
}

function byDomain(value: typeof ATTRIBUTE) {
  return declaredMap(DOMAIN, declaredMap(ID, value, ENTRIES_MAX), ENTRIES_MAX);
}
