import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Endpoints, Pod, Service } from "#api/generated/core.v1.ts";
import { endpointsKind } from "#api/kinds/core/v1/endpoints.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { build, type Draft } from "#testing/build.ts";
import { describeOutcome, written } from "#testing/decisions.ts";
import { endpointSliceController } from "./endpoint-slice.ts";
import { endpointsController } from "./endpoints.ts";

const CREATED = "2030-01-01T00:00:00Z";
const READY = "2030-01-01T00:05:00Z";
const TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time";

function service(spec: Draft<Service["spec"]> = {}): Service {
  return build(serviceKind, {
    metadata: { name: "web", creationTimestamp: CREATED },
    spec: {
      selector: { app: "web" },
      ipFamilies: ["IPv4"],
      clusterIP: "10.96.0.9",
      clusterIPs: ["10.96.0.9"],
      ports: [{ port: 80, protocol: "TCP", targetPort: 8080 }],
      ...spec,
    },
  });
}

function pod(name: string, ip: string, ready = true, going = false): Pod {
  return build(podKind, {
    metadata: {
      name,
      labels: { app: "web" },
      ...(going ? { deletionTimestamp: READY } : {}),
    },
    spec: { containers: [{ name: "c" }], nodeName: "n" },
    status: {
      phase: "Running",
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: READY }],
    },
  });
}

const A = pod("a", "10.0.0.1");
const UNREADY = pod("b", "10.0.0.2", false);
const GOING = pod("c", "10.0.0.3", true, true);

describe("endpoints decide", () => {
  const empty = build(endpointsKind, { metadata: { name: "web" } });
  const rows: {
    name: string;
    service?: Service | undefined;
    endpoints?: Endpoints;
    pods?: readonly Pod[];
    want: readonly string[];
    subsets?: unknown;
  }[] = [
    { name: "no service, none of ours", service: undefined, want: [] },
    {
      name: "no service any more",
      service: undefined,
      endpoints: empty,
      want: ["delete Endpoints web"],
    },
    {
      name: "ready ones and others, apart",
      service: service(),
      pods: [A, UNREADY, GOING],
      want: ["create Endpoints web"],
      subsets: [{ addresses: 1, notReadyAddresses: 1, ports: [8080] }],
    },
    {
      name: "all are ready where that is said",
      service: service({ publishNotReadyAddresses: true }),
      pods: [A, UNREADY],
      endpoints: empty,
      want: ["update Endpoints web"],
      subsets: [{ addresses: 2, notReadyAddresses: 0, ports: [8080] }],
    },
  ];
  for (const { name, service: of, endpoints, pods = [], want, subsets } of rows) {
    test(name, () => {
      const state = { service: of, endpoints, pods, seen: undefined };
      const outcome = endpointsController.decide(state, 0);
      assert.deepEqual(describeOutcome(outcome).writes, want);
      if (subsets === undefined) return;
      const found = written(outcome, endpointsKind)?.subsets?.map((subset) => ({
        addresses: (subset.addresses ?? []).length,
        notReadyAddresses: (subset.notReadyAddresses ?? []).length,
        ports: (subset.ports ?? []).map(({ port }) => port),
      }));
      assert.deepEqual(found, subsets);
    });
  }

  test("endpoints-last-change-trigger-time: of the Service first, of the pods later", () => {
    const of = service();
    const first = endpointsController.decide(
      { service: of, endpoints: undefined, pods: [], seen: undefined },
      0,
    );
    const made = written(first, endpointsKind)!;
    assert.equal(made.metadata.annotations?.[TRIGGER], CREATED);
    const seen = first.remember as { serviceUid: string; podTimes: ReadonlyMap<string, string> };
    const later = endpointsController.decide({ service: of, endpoints: made, pods: [A], seen }, 0);
    assert.equal(written(later, endpointsKind)?.metadata.annotations?.[TRIGGER], READY);
  });
});

describe("endpoint slices decide", () => {
  const node = build(nodeKind, {
    metadata: { name: "n", labels: { "topology.kubernetes.io/zone": "z" } },
  });
  const decide = (of: Service, pods: readonly Pod[]) =>
    endpointSliceController().decide(
      {
        service: of,
        slices: [],
        pods,
        nodes: new Map(pods.map(({ spec }) => [spec.nodeName ?? "", node])),
        seen: undefined,
        shares: undefined,
      },
      0,
    );

  test("every pod with an address, with its conditions, node and zone", () => {
    const outcome = decide(service(), [A, UNREADY, GOING]);
    assert.deepEqual(describeOutcome(outcome).writes, ["create EndpointSlice web-"]);
    const slice = written(outcome, endpointSliceKind)!;
    assert.deepEqual(
      slice.endpoints?.map(({ addresses, conditions, nodeName, zone }) => [
        addresses?.[0],
        conditions.ready,
        conditions.serving,
        conditions.terminating,
        nodeName,
        zone,
      ]),
      [
        ["10.0.0.1", true, true, false, "n", "z"],
        ["10.0.0.2", false, false, false, "n", "z"],
        ["10.0.0.3", false, true, true, "n", "z"],
      ],
    );
    assert.deepEqual(slice.ports, [{ name: "", port: 8080, protocol: "TCP" }]);
    assert.equal(slice.metadata.annotations?.[TRIGGER], CREATED);
  });

  test("a hundred to a slice", () => {
    const pods = Array.from({ length: 101 }, (_, i) => pod(`p${i}`, `10.0.1.${i}`));
    const outcome = decide(service(), pods);
    const sizes = (outcome.writes ?? [])
      .flat()
      .map((write) =>
        "object" in write ? (write.object as { endpoints?: unknown[] }).endpoints?.length : 0,
      );
    assert.deepEqual(sizes.sort(), [1, 100]);
  });

  test("a Service without pods has an empty EndpointSlice", () => {
    const outcome = decide(service(), []);
    assert.deepEqual(written(outcome, endpointSliceKind)?.endpoints ?? [], []);
    assert.deepEqual(describeOutcome(outcome).writes, ["create EndpointSlice web-"]);
  });
});
