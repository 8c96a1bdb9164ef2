import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Endpoints, Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { endpointsKind } from "#api/kinds/core/v1/endpoints.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { build, type Draft } from "#testing/build.ts";
import { describeOutcome, written } from "#testing/decisions.ts";
import { endpointSliceMirroringController } from "./mirroring.ts";

const SKIP = "endpointslice.kubernetes.io/skip-mirror";
const LEADER = "control-plane.alpha.kubernetes.io/leader";

function endpoints(metadata: Draft<Endpoints["metadata"]> = {}): Endpoints {
  return build(endpointsKind, {
    metadata: { name: "own", ...metadata },
    subsets: [
      {
        addresses: [{ ip: "10.1.1.1" }, { ip: "fd00::1" }],
        notReadyAddresses: [{ ip: "10.1.1.2" }],
        ports: [{ port: 80, protocol: "TCP" }],
      },
    ],
  });
}

const service = (selector?: Readonly<Record<string, string>>): Service =>
  build(serviceKind, {
    metadata: { name: "own" },
    spec: { ports: [{ port: 80 }], ...(selector === undefined ? {} : { selector }) },
  });
const stale: EndpointSlice = build(endpointSliceKind, {
  metadata: { name: "own-x" },
  addressType: "IPv4",
});

const rows: {
  name: string;
  endpoints?: Endpoints | undefined;
  service?: Service | undefined;
  slices?: readonly EndpointSlice[];
  want: readonly string[];
}[] = [
  {
    name: "one EndpointSlice is created for each address family",
    endpoints: endpoints(),
    service: service(),
    want: ["create EndpointSlice own-", "create EndpointSlice own-"],
  },
  {
    name: "an existing EndpointSlice is updated",
    endpoints: endpoints(),
    service: service(),
    slices: [stale],
    want: ["update EndpointSlice own-x", "create EndpointSlice own-"],
  },
  {
    name: "not where pods are selected",
    endpoints: endpoints(),
    service: service({ app: "x" }),
    slices: [stale],
    want: ["delete EndpointSlice own-x"],
  },
  {
    name: "Endpoints without a Service are not mirrored",
    endpoints: endpoints(),
    service: undefined,
    want: [],
  },
  {
    name: "Endpoints with the label skip-mirror are not mirrored",
    endpoints: endpoints({ labels: { [SKIP]: "true" } }),
    service: service(),
    want: [],
  },
  {
    name: "Endpoints of leader election are not mirrored",
    endpoints: endpoints({ annotations: { [LEADER]: "{}" } }),
    service: service(),
    want: [],
  },
  {
    name: "EndpointSlices are deleted with their Endpoints",
    endpoints: undefined,
    service: service(),
    slices: [stale],
    want: ["delete EndpointSlice own-x"],
  },
];

describe("EndpointSlice mirroring of Endpoints", () => {
  for (const { name, endpoints: from, service: of, slices = [], want } of rows) {
    test(name, () => {
      const state = { endpoints: from, service: of, slices };
      const { writes } = describeOutcome(endpointSliceMirroringController().decide(state, 0));
      const lines = writes.flatMap((line) =>
        line.startsWith("2 × ") ? [line.slice(4), line.slice(4)] : [line],
      );
      assert.deepEqual([...lines].sort(), [...want].sort());
    });
  }

  test("addresses beyond the limit are not mirrored, and an Event is recorded", () => {
    const state = { endpoints: endpoints(), service: service(), slices: [stale] };
    const outcome = endpointSliceMirroringController(1).decide(state, 0);
    assert.deepEqual(
      written(outcome, endpointSliceKind)?.endpoints?.map(({ addresses }) => addresses?.[0]),
      ["10.1.1.1"],
    );
    assert.match(
      outcome.events?.[0]?.message ?? "",
      /^A max of 1 addresses can be mirrored to EndpointSlices per Endpoints subset\./,
    );
  });

  test("mirrored endpoints have the condition ready", () => {
    const state = { endpoints: endpoints(), service: service(), slices: [stale] };
    const outcome = endpointSliceMirroringController().decide(state, 0);
    const first = (outcome.writes ?? []).flat().find(({ op }) => op === "update");
    const slice =
      first !== undefined && "object" in first ? (first.object as EndpointSlice) : stale;
    assert.equal(slice.metadata.generateName, "own-");
    assert.deepEqual(
      slice.endpoints?.map(({ addresses, conditions }) => [addresses?.[0], conditions.ready]),
      [
        ["10.1.1.1", true],
        ["10.1.1.2", false],
      ],
    );
    assert.equal(written(outcome, endpointSliceKind) !== undefined, true);
  });

  test("a slice that is written again does not say how it got its name", () => {
    const own: EndpointSlice = build(endpointSliceKind, {
      metadata: { name: "own-x", generateName: "own-" },
      addressType: "IPv4",
      ports: [{ name: "", port: 80, protocol: "TCP" }],
    });
    const state = { endpoints: endpoints(), service: service(), slices: [own] };
    const outcome = endpointSliceMirroringController().decide(state, 0);
    const writes = (outcome.writes ?? []).flat();
    const metadata = writes.flatMap((write) =>
      write.op === "update" ? write.object.metadata : [],
    );
    assert.deepEqual(
      metadata.map(({ name, generateName }) => [name, generateName]),
      [["own-x", undefined]],
    );
  });
});
