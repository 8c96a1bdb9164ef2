/** Events of both groups. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Event as CoreEvent } from "#api/generated/core.v1.ts";
import { eventKind as coreEventKind } from "#api/kinds/core/v1/event/event.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { eventKind } from "./event.ts";

const AT = "2030-01-01T00:00:00.000000Z";
const event = {
  eventTime: AT,
  reportingController: "c",
  reportingInstance: "i",
  action: "a",
  reason: "r",
  type: "Normal",
  note: "n",
  regarding: { kind: "Pod", namespace: "ns", name: "p" },
};

describe("events", () => {
  test("are stored as core events and come back unchanged", () => {
    const { object, faults } = runKind(eventKind, { object: event });
    assert.deepEqual(faults, []);
    const stored = eventKind.storedAs!.toStored(object) as CoreEvent;
    assert.equal(stored.apiVersion, "v1");
    assert.equal(stored.message, "n");
    assert.equal(stored.reportingComponent, "c");
    assert.deepEqual(stored.involvedObject, event.regarding);
    assert.deepEqual(eventKind.storedAs!.fromStored(stored), object);
  });

  const rows = [
    {
      name: "no time and old fields",
      write: { object: { ...event, eventTime: null, deprecatedCount: 1, type: "Odd" } },
      faults: [
        "eventTime: Required value",
        'type: Invalid value: "": has invalid value: Odd',
        'count: Invalid value: "": needs to be unset',
      ],
    },
    {
      name: "a series of one",
      write: { object: { ...event, series: { count: 1 } } },
      faults: [
        'series.count: Invalid value: "": should be at least 2',
        "series.lastObservedTime: Required value",
      ],
    },
    {
      name: "another note or object",
      write: { object: { ...event, note: "m", regarding: { namespace: "ns" } }, old: event },
      faults: [
        'involvedObject: Invalid value: {"Kind":"","Namespace":"ns","Name":"","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable',
        'message: Invalid value: "m": field is immutable',
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(eventKind, write).faults, faults));
  }

  test("of the core group are about their own namespace", () => {
    const { faults } = runKind(coreEventKind, { object: { involvedObject: { namespace: "b" } } });
    assert.deepEqual(faults, [
      'involvedObject.namespace: Invalid value: "b": does not match event.namespace',
    ]);
  });

  test("the columns show last seen, reason, object and message", () => {
    const { object } = runKind(coreEventKind, {
      object: {
        involvedObject: { kind: "Pod", name: "p", namespace: "ns", fieldPath: "spec" },
        firstTimestamp: "2030-01-01T00:00:00Z",
        lastTimestamp: "2030-01-01T00:01:00Z",
        message: " m\n",
        source: { component: "kubelet", host: "n" },
      },
    });
    assert.deepEqual(
      coreEventKind.columns.map((column) => column.cell(object, Date.parse(AT) + 90_000)),
      ["30s", "", "", "pod/p", "spec", "kubelet, n", "m", "90s", 1, "x"],
    );
  });
});
