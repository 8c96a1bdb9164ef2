/** The conditions of a CustomResourceDefinition. */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionStatus,
} from "#api/generated/apiextensions.v1.ts";
import { timeFromMs } from "#api/meta/time.ts";

export type Condition = Pick<
  CustomResourceDefinitionCondition,
  "type" | "status" | "reason" | "message"
>;

export function isTrue({ status }: CustomResourceDefinition, type: string): boolean {
  return findCondition(status, type)?.status === "True";
}

/** The time of a condition changes only with its status. */
export function withCondition(
  status: CustomResourceDefinitionStatus,
  condition: Condition,
  nowMs: number,
): CustomResourceDefinitionStatus {
  const conditions = [...(status.conditions ?? [])];
  const index = conditions.findIndex(({ type }) => type === condition.type);
  const old = conditions[index];
  const isSame = old !== undefined && old.status === condition.status;
  const lastTransitionTime = (isSame && old.lastTransitionTime) || timeFromMs(nowMs);
  const { type, status: value, ...texts } = condition;
  const next = { ...old, type, status: value, lastTransitionTime, ...texts };
  if (index < 0) conditions.push(next);
  else conditions[index] = next;
  return { ...status, conditions };
}

/** The status itself if it has no such condition. */
export function withoutCondition(
  status: CustomResourceDefinitionStatus,
  type: string,
): CustomResourceDefinitionStatus {
  if (findCondition(status, type) === undefined) return status;
  return { ...status, conditions: status.conditions?.filter((one) => one.type !== type) ?? [] };
}

export function findCondition({ conditions }: CustomResourceDefinitionStatus, type: string) {
  return conditions?.find((condition) => condition.type === type);
}
