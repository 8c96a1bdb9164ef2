/** The metadata of a list. */
import type { ObjectList } from "./answer.ts";

export function listMeta(list: ObjectList): Record<string, unknown> {
  const { resourceVersion, continueToken, remaining } = list;
  return {
    ...(resourceVersion === "" ? {} : { resourceVersion }), // of what is not stored
    ...(continueToken === undefined ? {} : { continue: continueToken }),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
  };
}
