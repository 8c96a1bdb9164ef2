/** Lists taken as sets. */
import type { Library } from "../library.ts";
import { isEqual } from "../values/compare.ts";
import type { CelList, Value } from "../values/value.ts";

export const setsLibrary: Library = {
  functions: {
    "list_sets_contains_list sets.contains(list(T), list(T)) -> bool": containsAll,
    "list_sets_equivalent_list sets.equivalent(list(T), list(T)) -> bool": (
      a: CelList,
      b: CelList,
    ) => containsAll(a, b) && containsAll(b, a),
    "list_sets_intersects_list sets.intersects(list(T), list(T)) -> bool": (
      a: CelList,
      b: CelList,
    ) => {
      for (const element of a) if (contains(b, element)) return true;
      return false;
    },
  },
};

function containsAll(list: CelList, part: CelList): boolean {
  for (const element of part) if (!contains(list, element)) return false;
  return true;
}

function contains(list: CelList, value: Value): boolean {
  for (const element of list) if (isEqual(element, value)) return true;
  return false;
}
