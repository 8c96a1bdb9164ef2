/** v1 Event: something that happened to an object. */

import { ageOf, nameColumn } from "#api/columns.ts";
import type { Event } from "#api/generated/core.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { pathSegmentName } from "#api/validation/names.ts";
import { validateLegacyEvent } from "./event-rules.ts";

export const eventKind = defineKind<Event>({
  group: "",
  version: "v1",
  names: { kind: "Event", plural: "events", short: ["ev"] },
  scope: "Namespaced",
  schema: builtInSchema("core.v1.Event"),
  deletion: { garbageCollection: "unsupported" },
  expires: "event-ttl",
  quota: "none",
  nameRule: pathSegmentName,
  createOnUpdate: true,
  unconditionalUpdate: true,

  validate: (event) => validateLegacyEvent(event, "reportingComponent"),
  validateUpdate: (next) => validateLegacyEvent(next, "reportingComponent"),

  columns: [
    {
      name: "Last Seen",
      type: "string",
      describedBy: "core.v1.Event.lastTimestamp",
      cell: lastSeen,
    },
    {
      name: "Type",
      type: "string",
      describedBy: "core.v1.Event.type",
      cell: ({ type }) => type ?? "",
    },
    {
      name: "Reason",
      type: "string",
      describedBy: "core.v1.Event.reason",
      cell: ({ reason }) => reason ?? "",
    },
    {
      name: "Object",
      type: "string",
      describedBy: "core.v1.Event.involvedObject",
      cell: ({ involvedObject: { kind = "", name } }) =>
        name ? `${kind.toLowerCase()}/${name}` : kind.toLowerCase(),
    },
    {
      name: "Subobject",
      type: "string",
      priority: 1,
      describedBy: "core.v1.ObjectReference.fieldPath",
      cell: ({ involvedObject }) => involvedObject.fieldPath ?? "",
    },
    {
      name: "Source",
      type: "string",
      priority: 1,
      describedBy: "core.v1.Event.source",
      cell: ({ source, reportingComponent, reportingInstance }) => {
        const instance = source.host || reportingInstance;
        const component = source.component || reportingComponent;
        return instance ? `${component}, ${instance}` : component;
      },
    },
    {
      name: "Message",
      type: "string",
      describedBy: "core.v1.Event.message",
      cell: ({ message }) => (message ?? "").trim(),
    },
    {
      name: "First Seen",
      type: "string",
      priority: 1,
      describedBy: "core.v1.Event.firstTimestamp",
      cell: firstSeen,
    },
    {
      name: "Count",
      type: "string",
      priority: 1,
      describedBy: "core.v1.Event.count",
      cell: ({ series, count }) => (series === undefined ? count || 1 : (series.count ?? 0)),
    },
    { ...nameColumn, priority: 1 },
  ],
  selectableFields: ({ involvedObject, reason, source, reportingComponent, type }) => ({
    "involvedObject.kind": involvedObject.kind ?? "",
    "involvedObject.namespace": involvedObject.namespace ?? "",
    "involvedObject.name": involvedObject.name ?? "",
    "involvedObject.uid": involvedObject.uid ?? "",
    "involvedObject.apiVersion": involvedObject.apiVersion ?? "",
    "involvedObject.resourceVersion": involvedObject.resourceVersion ?? "",
    "involvedObject.fieldPath": involvedObject.fieldPath ?? "",
    reason: reason ?? "",
    reportingComponent,
    source: source.component || reportingComponent,
    type: type ?? "",
  }),
});

function firstSeen({ firstTimestamp, eventTime }: Event, nowMs: number): string {
  return ageOf(firstTimestamp ?? eventTime ?? undefined, nowMs);
}

function lastSeen(event: Event, nowMs: number): string {
  if (event.series !== undefined) {
    return ageOf(event.series.lastObservedTime ?? undefined, nowMs);
  }
  if (event.lastTimestamp) return ageOf(event.lastTimestamp, nowMs);
  return firstSeen(event, nowMs);
}
