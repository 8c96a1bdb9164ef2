/** Conditions of a status: lists with one entry a type. */
import { timeFromMs } from "#api/meta/time.ts";

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
}

export function findCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/**
 * The list with `next` in it. One that says the same (status and reason) stays as it is; the time of
 * transition changes only with the status.
 */
export function withCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  next: C,
  nowMs: number,
): readonly C[] {
  const old = findCondition(conditions, next.type);
  if (old !== undefined && old.status === next.status && old.reason === next.reason) {
    return conditions ?? [];
  }
  const since = old?.status === next.status ? old.lastTransitionTime : undefined;
  const lastTransitionTime = since ?? next.lastTransitionTime ?? timeFromMs(nowMs);
  return [...withoutCondition(conditions, next.type), { ...next, lastTransitionTime }];
}

export function withoutCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  type: string,
): readonly C[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}
