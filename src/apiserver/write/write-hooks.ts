/**
 * Hooks of a resource around its writes, beside its kind's rules: Services allocate addresses and ports.
 *
 * `begin…` run before the rules and may change the draft. What they took is settled by `finish`: kept
 * when the write succeeded, given back otherwise. On dry runs nothing is taken.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import type { Result } from "#api/meta/status.ts";

export type Finish = (written: boolean) => Promise<void>;

export interface WriteHooks {
  beginCreate(draft: Draft<KubeObject>, dryRun: boolean): Promise<Result<Finish>>;
  beginUpdate(draft: Draft<KubeObject>, old: KubeObject, dryRun: boolean): Promise<Result<Finish>>;
  /** The object is gone. */
  afterDelete(object: KubeObject): Promise<Status | undefined>;
}
