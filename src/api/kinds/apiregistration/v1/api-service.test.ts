import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { APIService } from "#api/generated/apiregistration.v1.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { apiServiceKind as kind } from "./api-service.ts";

const metadata = { name: "v1.g" };
const made = { group: "g", version: "v1", groupPriorityMinimum: 100, versionPriority: 10 };
const service = { namespace: "n", name: "s" };

describe("API services", () => {
  const rows = [
    {
      name: "another name",
      spec: { version: "v2" },
      faults: [
        'metadata.name: Invalid value: "v1.g": must be `spec.version+"."+spec.group`: "v2.g"',
      ],
    },
    {
      name: "priorities out of range",
      spec: { groupPriorityMinimum: 20_001, versionPriority: 0 },
      faults: [
        "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
        "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
      ],
    },
    {
      name: "caBundle together with insecureSkipTLSVerify",
      spec: { caBundle: "AAAA", insecureSkipTLSVerify: true },
      faults: [
        'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
        "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
      ],
    },
    {
      name: "trust and its contrary",
      spec: { service, caBundle: "AAAA", insecureSkipTLSVerify: true },
      faults: [
        "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
      ],
    },
    {
      name: "a service without name and namespace",
      spec: { service: { port: 70_000 } },
      faults: [
        "spec.service.namespace: Required value",
        "spec.service.name: Required value",
        "spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive",
      ],
    },
  ];
  for (const { name, spec, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(
        runKind(kind, { object: { metadata, spec: { ...made, ...spec } } }).faults,
        faults,
      ));
  }

  test("a local one is available from the start", () => {
    const outcome = runKind(kind, { object: { metadata, spec: made }, nowMs: 1_000 });
    const { status } = outcome.object as APIService;
    assert.deepEqual(status.conditions, [
      {
        type: "Available",
        status: "True",
        lastTransitionTime: "1970-01-01T00:00:01Z",
        reason: "Local",
        message: "Local APIServices are always available",
      },
    ]);
    assert.deepEqual(cellsOf(kind, outcome).slice(1, 3), ["Local", "True"]);
  });

  test("another server's is not known to be, and says why not", () => {
    const spec = { ...made, service };
    const outcome = runKind(kind, { object: { metadata, spec } });
    assert.equal((outcome.object as APIService).spec.service?.port, 443);
    assert.deepEqual(cellsOf(kind, outcome).slice(1, 3), ["n/s", "Unknown"]);
    const conditions = [
      { type: "Available", status: "False", lastTransitionTime: null, reason: "MissingEndpoints" },
    ];
    const down = runKind(kind, {
      object: { metadata, spec, status: { conditions } },
      old: { metadata, spec },
      subresource: "status",
    });
    assert.equal(cellsOf(kind, down)[2], "False (MissingEndpoints)");
  });

  test("a status is one of three", () => {
    const conditions = [{ type: "Available", status: "Maybe", lastTransitionTime: null }];
    const write = {
      object: { metadata, spec: made, status: { conditions } },
      old: { metadata, spec: made },
      subresource: "status",
    };
    assert.deepEqual(runKind(kind, write).faults, [
      'status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"',
    ]);
  });
});
