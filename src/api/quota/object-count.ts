/** Objects that cost nothing but their number. */
import type { Measure } from "./measure.ts";

/** Counted as `count/PLURAL.GROUP`, and under the old name that a few kinds have beside it. */
export function objectCount(group: string, plural: string, oldName?: string): Measure {
  const name = `count/${plural}${group === "" ? "" : `.${group}`}`;
  const names = oldName === undefined ? [name] : [name, oldName];
  const one = Object.fromEntries(names.map((each) => [each, "1"]));
  return {
    covers: (resource) => names.includes(resource),
    usage: () => one,
    inScope: () => false,
  };
}
