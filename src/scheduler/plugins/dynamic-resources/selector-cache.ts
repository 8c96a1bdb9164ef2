/** Compiled CEL selectors of devices, and what they said of devices that have not changed. */
import { type DeviceMatcher, deviceMatcher } from "#api/expressions/devices.ts";
import type { Pool, PooledDevice } from "./device-pools.ts";
import type { WantedRequest } from "./wanted-devices.ts";

const SELECTORS_MAX = 1_000;

/** A device and the driver that offers it. */
export interface SelectableDevice extends Pick<PooledDevice, "device"> {
  readonly pool: Pick<Pool, "driver">;
}

export class SelectorCache {
  readonly #matchers = new Map<string, DeviceMatcher>();
  readonly #known = new WeakMap<object, Map<string, boolean>>();

  matches({ expressions }: Pick<WantedRequest, "expressions">, device: SelectableDevice): boolean {
    for (const expression of expressions) if (!this.#matchesOne(expression, device)) return false;
    return true;
  }

  #matchesOne(expression: string, { device, pool }: SelectableDevice): boolean {
    let known = this.#known.get(device);
    if (known === undefined) {
      known = new Map();
      this.#known.set(device, known);
    }
    let matches = known.get(expression);
    if (matches === undefined) {
      const result = this.#matcher(expression)({ driver: pool.driver, device });
      if (!result.ok) throw new Error(result.error);
      matches = result.matches;
      known.set(expression, matches);
    }
    return matches;
  }

  #matcher(expression: string): DeviceMatcher {
    let matcher = this.#matchers.get(expression);
    if (matcher === undefined) {
      if (this.#matchers.size >= SELECTORS_MAX) this.#matchers.clear();
      matcher = deviceMatcher(expression);
      this.#matchers.set(expression, matcher);
    }
    return matcher;
  }
}
