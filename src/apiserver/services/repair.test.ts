import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Service } from "#api/generated/core.v1.ts";
import { silentLogger } from "#lib/logger.ts";
import { startTestApi } from "../api.testing.ts";
import { addressObject } from "./address-object.ts";
import { decideAddressRepairs, type Repair } from "./repair-addresses.ts";
import { decidePortRepair } from "./repair-ports.ts";
import { repairOnce, runServiceRepair } from "./run-repair.ts";

const service = (name: string, clusterIPs: string[], spec: object = {}): Service =>
  ({
    metadata: { namespace: "ns", name, creationTimestamp: "2030-01-01T00:00:00Z" },
    spec: { type: "ClusterIP", clusterIP: clusterIPs[0], clusterIPs, ...spec },
  }) as never;
const address = (name: string, owner: string, more: object = {}) => {
  const made = addressObject(name, service(owner, []));
  const metadata = { ...made.metadata, creationTimestamp: "2030-01-01T00:00:00Z" };
  return { ...made, metadata, ...more } as typeof made;
};
const LATER = Date.parse("2030-01-01T00:02:00Z");
const RANGE = { metadata: { name: "kubernetes" }, spec: { cidrs: ["10.0.0.0/24"] } } as never;

describe("repair of ClusterIPs and IPAddresses", () => {
  const gateway = { spec: { parentRef: { group: "g", resource: "gateways", name: "x" } } };
  const rows: {
    name: string;
    services?: Service[];
    addresses?: ReturnType<typeof address>[];
    nowMs?: number;
    want: string[];
  }[] = [
    {
      name: "an allocated ClusterIP needs no repair",
      services: [service("a", ["10.0.0.5"])],
      addresses: [address("10.0.0.5", "a")],
      want: [],
    },
    {
      name: "a ClusterIP without an IPAddress gets one (ClusterIPNotAllocated)",
      services: [service("a", ["10.0.0.5"])],
      want: [
        "create 10.0.0.5 ClusterIPNotAllocated: Cluster IP [IPv4]: 10.0.0.5 is not allocated; repairing",
      ],
    },
    {
      name: "a ClusterIP outside of every ServiceCIDR is reported (ClusterIPOutOfRange)",
      services: [service("a", ["10.1.0.5"])],
      want: [
        "nothing ClusterIPOutOfRange: Cluster IP [IPv4]: 10.1.0.5 is not within any configured Service CIDR; please recreate service",
      ],
    },
    {
      name: "an IPAddress that refers to something else is recreated",
      services: [service("a", ["10.0.0.5"])],
      addresses: [address("10.0.0.5", "a", gateway)],
      want: [
        "recreate 10.0.0.5 ClusterIPNotAllocated: the ClusterIP [IPv4]: 10.0.0.5 for Service ns/a has a wrong reference; repairing",
        "delete 10.0.0.5 IPAddressNotAllocated: IPAddress 10.0.0.5 appears to have been modified, not referencing a Service: cleaning up",
      ],
    },
    {
      name: "two Services with one",
      services: [service("a", ["10.0.0.5"]), service("b", ["10.0.0.5"])],
      addresses: [address("10.0.0.5", "a")],
      want: [
        "nothing ClusterIPAlreadyAllocated: Cluster IP [IPv4]:10.0.0.5 was assigned to multiple services; please recreate service",
      ],
    },
    {
      name: "headless and ExternalName Services need no IPAddress",
      services: [service("a", ["None"]), service("b", [], { type: "ExternalName" })],
      want: [],
    },
    {
      name: "an IPAddress of a Service that is not yet there is kept for a while",
      addresses: [address("10.0.0.5", "a")],
      nowMs: LATER - 61_000,
      want: [],
    },
    {
      name: "an IPAddress of a Service that never came is deleted (IPAddressNotAllocated)",
      addresses: [address("10.0.0.5", "a")],
      want: [
        "delete 10.0.0.5 IPAddressNotAllocated: IPAddress: 10.0.0.5 for Service ns/a appears to have leaked: cleaning up",
      ],
    },
    {
      name: "an IPAddress of a Service that has another one is deleted (IPAddressWrongReference)",
      services: [service("a", ["10.0.0.6"])],
      addresses: [address("10.0.0.5", "a"), address("10.0.0.6", "a")],
      want: [
        "delete 10.0.0.5 IPAddressWrongReference: IPAddress: 10.0.0.5 for Service ns/a has a wrong reference; cleaning up",
      ],
    },
  ];
  const text = (repair: Repair): string => {
    const { complaint } = repair;
    const what = repair.do === "nothing" ? "nothing" : `${repair.do} ${repair.address}`;
    return `${what} ${complaint?.reason}: ${complaint?.note}`;
  };
  for (const { name, services = [], addresses = [], nowMs = LATER, want } of rows) {
    test(name, () => {
      const repairs = decideAddressRepairs({ services, addresses, ranges: [RANGE], nowMs });
      assert.deepEqual(repairs.map(text), want);
    });
  }
});

describe("ports", () => {
  const range = { first: 30_000, last: 30_009 };
  const withPorts = (name: string, ...ports: object[]) => service(name, [], { ports });

  test("node ports of Services are allocated; conflicts are reported", () => {
    const services = [
      withPorts("a", { nodePort: 30_001 }, { nodePort: 30_001, protocol: "UDP" }),
      withPorts("b", { nodePort: 30_001 }, { nodePort: 40_000 }),
    ];
    const { taken, complaints } = decidePortRepair(services, new Set(), new Map(), range);
    assert.deepEqual([...taken], [30_001]);
    assert.deepEqual(
      complaints.map(({ reason, note }) => `${reason}: ${note}`),
      [
        "PortNotAllocated: Port 30001 is not allocated; repairing",
        "PortAlreadyAllocated: Port 30001 was assigned to multiple services; please recreate service",
        "PortOutOfRange: Port 40000 is not within the port range 30000-30009; please recreate service",
      ],
    );
  });

  test("leaked node ports are kept for some rounds, then released", () => {
    let leaks: ReadonlyMap<number, number> = new Map();
    const stored = new Set([30_002]);
    const rounds: boolean[] = [];
    for (let round = 0; round < 4; round++) {
      const repaired = decidePortRepair([], stored, leaks, range);
      rounds.push(repaired.taken.has(30_002));
      leaks = repaired.leaks;
    }
    assert.deepEqual(rounds, [true, true, true, false]);
  });
});

test("a repair round fixes the stored allocations and records Events", async () => {
  await using t = await startTestApi();
  const ranges = "/apis/networking.k8s.io/v1/servicecidrs";
  const cidr = { metadata: { name: "kubernetes" }, spec: { cidrs: ["10.96.0.0/24"] } };
  await t.want(201, "POST", ranges, { body: cidr });
  const at = "/api/v1/namespaces/default";
  const body = { metadata: { name: "s" }, spec: { type: "NodePort", ports: [{ port: 80 }] } };
  const made = await t.want(201, "POST", `${at}/services`, { body });
  const name = made.spec.clusterIP as string;
  await t.want(200, "DELETE", `/apis/networking.k8s.io/v1/ipaddresses/${name}`);
  const { objects, ports } = t.api;
  await ports.release([made.spec.ports[0].nodePort]);
  const options = { objects, ports, clock: t.clock, logger: silentLogger, hostname: "h" };
  await repairOnce(options, new Map());
  await t.want(200, "GET", `/apis/networking.k8s.io/v1/ipaddresses/${name}`);
  const { items } = await t.want(200, "GET", `${at}/events`);
  assert.deepEqual(items.map((one: { reason: string }) => one.reason).sort(), [
    "ClusterIPNotAllocated",
    "PortNotAllocated",
  ]);
  assert.deepEqual([...(await repairOnce(options, new Map())).keys()], []);
  const again = await t.want(200, "GET", `${at}/events`);
  assert.equal(again.items.length, 2); // nothing is wrong any more

  // A range that comes while the server runs is used, one that goes is not.
  const second = { metadata: { name: "more" }, spec: { cidrs: ["10.97.0.0/24"] } };
  await t.want(201, "POST", ranges, { body: second });
  const wanted = {
    metadata: { name: "t" },
    spec: { clusterIP: "10.97.0.9", ports: [{ port: 1 }] },
  };
  await t.want(201, "POST", `${at}/services`, { body: wanted });
});

test("a deleted IPAddress of a Service is created again", async () => {
  await using t = await startTestApi();
  const cidr = { metadata: { name: "kubernetes" }, spec: { cidrs: ["10.96.0.0/24"] } };
  await t.want(201, "POST", "/apis/networking.k8s.io/v1/servicecidrs", { body: cidr });
  const body = { metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } };
  const made = await t.want(201, "POST", "/api/v1/namespaces/default/services", { body });
  const at = `/apis/networking.k8s.io/v1/ipaddresses/${made.spec.clusterIP}`;
  const life = new AbortController();
  const { objects, ports } = t.api;
  const options = { objects, ports, clock: t.clock, logger: silentLogger, hostname: "h" };
  const running = runServiceRepair(options, life.signal);
  await t.clock.advance(1_000);
  for (let times = 0; times < 3; times++) {
    await t.want(200, "DELETE", at);
    await t.clock.advance(1_000);
    await t.want(200, "GET", at);
  }
  life.abort();
  await running;
});
