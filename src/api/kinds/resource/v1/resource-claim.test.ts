/** Claims and their templates. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ResourceClaim } from "#api/generated/resource.v1.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import {
  resourceClaimKind as claim,
  resourceClaimTemplateKind as template,
} from "./resource-claim.ts";

const exactly = { deviceClassName: "gpu" };
const request = { name: "r", exactly };
const claimOf = (devices: object) => ({ spec: { devices: { requests: [request], ...devices } } });
const ofRequest = (fields: object) => claimOf({ requests: [{ ...request, ...fields }] });
const ofDevices = (fields: object) => ofRequest({ exactly: { ...exactly, ...fields } });

describe("what a claim asks for", () => {
  const ONE_OF = "exactly one of `exactly` or `firstAvailable` is required";
  const NAMED =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const rows = [
    {
      name: "requests for nothing",
      object: ofRequest({ exactly: undefined }),
      faults: [`requests[0]: Required value: ${ONE_OF}`],
    },
    {
      name: "requests for one thing and for alternatives",
      object: ofRequest({ firstAvailable: [{ name: "a", deviceClassName: "gpu" }] }),
      faults: [`requests[0]: Invalid value: null: ${ONE_OF}, but multiple fields are set`],
    },
    {
      name: "requests of the same name",
      object: claimOf({ requests: [request, request] }),
      faults: ['requests[1]: Duplicate value: "r"'],
    },
    {
      name: "no class",
      object: ofDevices({ deviceClassName: "" }),
      faults: ["requests[0].exactly.deviceClassName: Required value"],
    },
    {
      name: "a number of all devices",
      object: ofDevices({ allocationMode: "All", count: 2 }),
      faults: [
        "requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
      ],
    },
    {
      name: "fewer than no devices, in an unknown way",
      object: claimOf({
        requests: [
          { name: "r", exactly: { ...exactly, count: -1 } },
          { name: "s", exactly: { ...exactly, allocationMode: "Some" } },
        ],
      }),
      faults: [
        "requests[0].exactly.count: Invalid value: -1: must be greater than zero",
        'requests[1].exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"',
      ],
    },
    {
      name: "selectors without expression, and too many",
      object: claimOf({
        requests: [
          { name: "r", exactly: { ...exactly, selectors: [{}] } },
          {
            name: "s",
            exactly: { ...exactly, selectors: new Array(33).fill({ cel: { expression: "1" } }) },
          },
        ],
      }),
      faults: [
        "requests[0].exactly.selectors[0].cel: Required value",
        "requests[1].exactly.selectors: Too many: 33: must have at most 32 items",
      ],
    },
    {
      name: "tolerations that cannot be",
      object: ofDevices({
        tolerations: [
          { operator: "Exists", value: "v" },
          { operator: "Like", effect: "Hide" },
        ],
      }),
      faults: [
        'requests[0].exactly.tolerations[0].value: Invalid value: "v": must be empty for operator `Exists`',
        'requests[0].exactly.tolerations[1].operator: Unsupported value: "Like": supported values: "Equal", "Exists"',
        'requests[0].exactly.tolerations[1].effect: Unsupported value: "Hide": supported values: "NoExecute", "NoSchedule", "None"',
      ],
    },
    {
      name: "constraints without attribute, attributes without domain",
      object: claimOf({
        constraints: [{ requests: ["r", "q", "r"], matchAttribute: "a" }, { requests: ["r/s/t"] }],
      }),
      faults: [
        `constraints[0].requests[1]: Invalid value: "q": ${NAMED}`,
        'constraints[0].requests[2]: Duplicate value: "r"',
        'constraints[0].matchAttribute: Invalid value: "a": a fully qualified name must be a domain and a name separated by a slash',
        `constraints[1].requests[0]: Invalid value: "r/s/t": ${NAMED}`,
        'constraints[1]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
      ],
    },
    {
      name: "opaque configuration without a driver",
      object: claimOf({
        config: [{}, { opaque: { driver: "", parameters: [1] } }],
      }),
      faults: [
        "config[0].opaque: Required value",
        "config[1].opaque.driver: Required value",
        'config[1].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
      ],
    },
  ];
  for (const { name, object, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(
        runKind(claim, { object }).faults,
        faults.map((fault) => `spec.devices.${fault}`),
      ));
  }

  test("one device by default, alternatives too", () => {
    const { spec } = runKind(claim, {
      object: claimOf({
        requests: [
          request,
          { name: "s", firstAvailable: [{ name: "a", ...exactly, tolerations: [{}] }] },
        ],
      }),
    }).object as ResourceClaim;
    const one = { ...exactly, allocationMode: "ExactCount", count: 1 };
    assert.deepEqual(spec.devices.requests, [
      { name: "r", exactly: one },
      { name: "s", firstAvailable: [{ name: "a", ...one, tolerations: [{ operator: "Equal" }] }] },
    ]);
  });

  test("it does not change", () => {
    const [fault] = runKind(claim, { object: claimOf({ requests: [] }), old: claimOf({}) }).faults;
    assert.match(fault!, /^spec: Invalid value: .*: field is immutable$/);
  });

  test("access to others' devices only in a namespace that is marked for it", () => {
    const object = ofDevices({ adminAccess: true });
    const run = (labels: Record<string, string> | undefined) =>
      runKind(claim, { object, context: { namespaceLabels: () => labels } }).faults;
    assert.deepEqual(run({}), [
      "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace",
    ]);
    assert.deepEqual(run({ "resource.kubernetes.io/admin-access": "true" }), []);
  });

  test("a template's metadata is labels and annotations", () => {
    const object = {
      spec: { metadata: { name: "n", labels: { "a b": "c" } }, ...claimOf({}) },
    };
    const faults = runKind(template, { object }).faults;
    assert.equal(faults.length, 2);
    assert.match(faults[0]!, /^spec\.metadata\.labels: Invalid value: "a b"/);
    assert.equal(faults[1], "spec.metadata.name: Forbidden: cannot be set");
  });
});

describe("status.allocation of a ResourceClaim", () => {
  const result = { request: "r", driver: "d", pool: "p", device: "dev" };
  const allocation = (...results: object[]) => ({ allocation: { devices: { results } } });
  const consumer = (uid: string) => ({ resource: "pods", name: "p", uid });
  const write = (status: object, old: object = {}, metadata: object = {}) => ({
    object: { ...claimOf({}), metadata, status },
    old: { ...claimOf({}), metadata, status: old },
    subresource: "status",
  });
  const rows = [
    { name: "an allocated device is accepted", write: write(allocation(result)), faults: [] },
    {
      name: "an unknown request, no driver",
      write: write(allocation({ ...result, request: "q", driver: "", device: "D" })),
      faults: [
        "allocation.devices.results[0].request: Invalid value: \"q\": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'",
        "allocation.devices.results[0].driver: Required value",
        "allocation.devices.results[0].device: Invalid value: \"D\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
      ],
    },
    {
      name: "an allocation that changes",
      write: write(allocation({ ...result, device: "other" }), allocation(result)),
      faults: ["allocation: field is immutable"],
    },
    {
      name: "users without devices",
      write: write({ reservedFor: [consumer("1")] }),
      faults: ["reservedFor: Forbidden: may not be specified when `allocated` is not set"],
    },
    {
      name: "users twice, and of no name",
      write: write({
        ...allocation(result),
        reservedFor: [consumer("1"), consumer("1"), { resource: "", name: "", uid: "2" }],
      }),
      faults: [
        "reservedFor[2].resource: Required value",
        "reservedFor[2].name: Required value",
        'reservedFor[1]: Duplicate value: "1"',
      ],
    },
    {
      name: "new users of a claim that goes",
      write: write(
        { ...allocation(result), reservedFor: [consumer("1"), consumer("2")] },
        { ...allocation(result), reservedFor: [consumer("1")] },
        { deletionTimestamp: "2030-01-01T00:00:00Z" },
      ),
      faults: [
        "reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
      ],
    },
    {
      name: "the state of a device of others",
      write: write({
        ...allocation(result),
        devices: [{ driver: "d", pool: "p", device: "other", shareID: "x" }],
      }),
      faults: [
        'devices[0].shareID: Invalid value: "x": error validating uid: invalid UUID length: 1',
        'devices[0]: Invalid value: {"Driver":"d","Pool":"p","Device":"other","ShareID":"x"}: must be an allocated device in the claim',
      ],
    },
    {
      name: "conditions of binding that contradict each other",
      write: write(
        allocation({ ...result, bindingConditions: ["a", "a"], bindingFailureConditions: ["a"] }),
      ),
      faults: [
        'allocation.devices.results[0].bindingConditions[1]: Duplicate value: "a"',
        'allocation.devices.results[0].bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not overlap with bindingConditions',
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(name, () =>
      assert.deepEqual(
        runKind(claim, write).faults.map((fault) =>
          fault.replace(/^status\./, "").replace(/Invalid value: \{"Devices.*\}: /, ""),
        ),
        faults,
      ),
    );
  }

  test("the state of a device goes with the device", () => {
    const devices = [{ driver: "d", pool: "p", device: "dev" }];
    const { object } = runKind(claim, write({ devices }, { ...allocation(result), devices }));
    assert.deepEqual((object as ResourceClaim).status, {});
  });

  const states = [
    { name: "pending", status: {} },
    { name: "allocated", status: allocation(result) },
    {
      name: "allocated,reserved",
      status: { ...allocation(result), reservedFor: [consumer("1")] },
    },
  ];
  for (const { name, status } of states) {
    test(`in a cell: ${name}`, () =>
      assert.equal(cellsOf(claim, runKind(claim, write(status)))[1], name));
  }
});
