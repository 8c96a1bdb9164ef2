/** events.k8s.io/v1 Event: the core group's Events under newer names; stored as those. */

import type { Event as CoreEvent } from "#api/generated/core.v1.ts";
import type { Event } from "#api/generated/events.v1.ts";
import { defineKind } from "#api/kind.ts";
import { eventKind as coreEventKind } from "#api/kinds/core/v1/event/event.ts";
import {
  validateStrictEvent,
  validateStrictEventUpdate,
} from "#api/kinds/core/v1/event/event-rules.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";

export const eventKind = defineKind<Event>({
  group: "events.k8s.io",
  version: "v1",
  names: { kind: "Event", plural: "events", short: ["ev"] },
  scope: "Namespaced",
  schema: builtInSchema("events.v1.Event"),
  nameRule: nameIsDnsSubdomain,
  createOnUpdate: true,
  unconditionalUpdate: true,

  validate: (event) => validateStrictEvent(toCoreEvent(event)),
  validateUpdate: (next, old) => validateStrictEventUpdate(toCoreEvent(next), toCoreEvent(old)),

  columns: coreEventKind.columns.map((column) => ({
    ...column,
    cell: (event: Event, nowMs: number) => column.cell(toCoreEvent(event), nowMs),
  })),
  selectableFields: ({ regarding, reason, reportingController, type }) => ({
    reason: reason ?? "",
    "regarding.kind": regarding.kind ?? "",
    "regarding.namespace": regarding.namespace ?? "",
    "regarding.name": regarding.name ?? "",
    "regarding.uid": regarding.uid ?? "",
    "regarding.apiVersion": regarding.apiVersion ?? "",
    "regarding.resourceVersion": regarding.resourceVersion ?? "",
    "regarding.fieldPath": regarding.fieldPath ?? "",
    reportingController: reportingController ?? "",
    type: type ?? "",
  }),
  storedAs: {
    group: "",
    version: "v1",
    toStored: toCoreEvent,
    fromStored: (stored) => fromCoreEvent(stored as CoreEvent),
  },
});

function toCoreEvent({
  regarding,
  note,
  reportingController = "",
  reportingInstance = "",
  deprecatedSource,
  deprecatedFirstTimestamp,
  deprecatedLastTimestamp,
  deprecatedCount,
  ...same
}: Event): CoreEvent {
  return {
    ...same,
    kind: "Event",
    apiVersion: "v1",
    involvedObject: regarding,
    source: deprecatedSource,
    reportingComponent: reportingController,
    reportingInstance,
    ...given("message", note),
    ...given("firstTimestamp", deprecatedFirstTimestamp),
    ...given("lastTimestamp", deprecatedLastTimestamp),
    ...given("count", deprecatedCount),
  };
}

function fromCoreEvent({
  involvedObject,
  message,
  source,
  reportingComponent,
  reportingInstance,
  firstTimestamp,
  lastTimestamp,
  count,
  series,
  eventTime,
  ...same
}: CoreEvent): Event {
  return {
    ...same,
    kind: "Event",
    apiVersion: "events.k8s.io/v1",
    eventTime: eventTime ?? null,
    regarding: involvedObject,
    deprecatedSource: source,
    ...given("reportingController", reportingComponent || undefined),
    ...given("reportingInstance", reportingInstance || undefined),
    ...given("note", message),
    ...given("deprecatedFirstTimestamp", firstTimestamp),
    ...given("deprecatedLastTimestamp", lastTimestamp),
    ...given("deprecatedCount", count),
    ...given(
      "series",
      series && { count: series.count ?? 0, lastObservedTime: series.lastObservedTime ?? null },
    ),
  };
}

/** A record with the one field, or none if there is no value for it. */
function given<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]: Value });
}
