/** Constraints of a claim over several of its devices: equal or distinct attributes. */
import type { Device, DeviceAttribute, DeviceConstraint } from "#api/generated/resource.v1.ts";
import type { PooledDevice } from "./device-pools.ts";

export interface ConstraintState {
  /** Whether the device may be added for the request; it is remembered if so. */
  add(request: string, parent: string | undefined, device: PooledDevice): boolean;
  remove(request: string, parent: string | undefined, device: PooledDevice): void;
}

export function constraintState(constraint: DeviceConstraint): ConstraintState {
  const { requests = [], matchAttribute, distinctAttribute } = constraint;
  const attribute = matchAttribute ?? distinctAttribute ?? "";
  const values = new Map<string, { readonly value: string; count: number }>();
  const applies = (request: string, parent: string | undefined): boolean =>
    requests.length === 0 ||
    requests.includes(parent === undefined ? request : `${parent}/${request}`) ||
    (parent !== undefined && requests.includes(parent));
  return {
    add: (request, parent, device) => {
      if (!applies(request, parent)) return true;
      const value = attributeText(device, attribute);
      if (value === undefined) return false;
      const known = [...values.values()].map((one) => one.value);
      const isFine =
        matchAttribute !== undefined
          ? known.every((other) => other === value)
          : !known.includes(value);
      if (!isFine) return false;
      const before = values.get(device.id);
      if (before === undefined) values.set(device.id, { value, count: 1 });
      else before.count += 1; // another share of the device
      return true;
    },
    remove: (request, parent, device) => {
      const known = applies(request, parent) ? values.get(device.id) : undefined;
      if (known === undefined) return;
      known.count -= 1;
      if (known.count === 0) values.delete(device.id);
    },
  };
}

/** The attribute by its full name, or without the domain if that is the driver's. */
function attributeText({ device, pool }: PooledDevice, name: string): string | undefined {
  const attributes: Device["attributes"] = device.attributes ?? {};
  const short = name.startsWith(`${pool.driver}/`) ? name.slice(pool.driver.length + 1) : undefined;
  const found = attributes[name] ?? (short === undefined ? undefined : attributes[short]);
  return found === undefined ? undefined : textOf(found);
}

function textOf({ int, bool, string, version }: DeviceAttribute): string | undefined {
  if (int !== undefined) return `i${int}`;
  if (bool !== undefined) return `b${bool}`;
  if (version !== undefined) return `v${version}`;
  return string === undefined ? undefined : `s${string}`;
}
