/** Keeps the condition Dangling of each FlowSchema: whether its priority level is missing. */

import type { FlowSchema } from "#api/generated/flowcontrol.v1.ts";
import { flowSchemaKind } from "#api/kinds/flowcontrol/v1/flow-schema.ts";
import { priorityLevelConfigurationKind } from "#api/kinds/flowcontrol/v1/priority-level-configuration.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Objects } from "../storage/objects.ts";

type Condition = NonNullable<FlowSchema["status"]["conditions"]>[number];

export function danglingCondition(level: string, exists: boolean, nowMs: number): Condition {
  return {
    type: "Dangling",
    status: exists ? "False" : "True",
    lastTransitionTime: timeFromMs(nowMs),
    reason: exists ? "Found" : "NotFound",
    message:
      "This FlowSchema references the PriorityLevelConfiguration object named " +
      `${JSON.stringify(level)} ${exists ? "and it exists" : "but there is no such object"}`,
  };
}

/** Follows schemas and levels until aborted. */
export function runFlowSchemaStatus(
  objects: Objects,
  clock: Pick<Clock, "nowMs">,
  logger: Logger,
  signal: AbortSignal,
): void {
  const check = (schema: FlowSchema): void => {
    const level = schema.spec.priorityLevelConfiguration.name;
    const exists = objects.get(priorityLevelConfigurationKind, "", level) !== undefined;
    const wanted = danglingCondition(level, exists, clock.nowMs());
    if (hasCondition(schema, wanted)) return;
    void objects
      .mutate(flowSchemaKind, "", schema.metadata.name!, (draft) => {
        if (hasCondition(draft as FlowSchema, wanted)) return undefined;
        const others = (draft.status.conditions ?? []).filter(({ type }) => type !== "Dangling");
        draft.status.conditions = [...others, { ...wanted }];
        return undefined;
      })
      .then((result) => {
        if (result.ok || result.status.reason === "NotFound") return;
        logger.warn("the status of a flow schema could not be written", {
          schema: schema.metadata.name,
          why: result.status.message,
        });
      });
  };
  const checkAll = (): void => {
    for (const schema of objects.list(flowSchemaKind)) check(schema);
  };
  const onSchema = (next: FlowSchema | undefined): void => {
    if (next !== undefined) check(next);
  };
  objects.onChange(flowSchemaKind, onSchema, signal);
  objects.onChange(priorityLevelConfigurationKind, checkAll, signal);
  checkAll();
}

function hasCondition({ status }: FlowSchema, wanted: Condition): boolean {
  const dangling = (status?.conditions ?? []).find(({ type }) => type === "Dangling");
  return dangling?.status === wanted.status && dangling?.message === wanted.message;
}
