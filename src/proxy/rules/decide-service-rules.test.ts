import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import type { IpFamily } from "#api/meta/ip-family.ts";
import { build, type Draft as ObjectDraft } from "#testing/build.ts";
import { decideServiceRules } from "./decide-service-rules.ts";
import type { ServicePortRules } from "./service-rules.ts";

const NODE = { nodeName: "here", zone: "a", nodeIps: ["192.168.0.5"] };

interface Draft {
  readonly ip: string;
  readonly node?: string;
  readonly ready?: boolean;
  readonly serving?: boolean;
  readonly terminating?: boolean;
  readonly zones?: readonly string[];
  readonly nodes?: readonly string[];
}

const HERE: Draft = { ip: "10.0.0.1", node: "here" };
const THERE: Draft = { ip: "10.0.0.2", node: "there" };
const DRAINING = { ready: false, serving: true, terminating: true };

function slice(drafts: readonly Draft[], addressType: IpFamily = "IPv4"): EndpointSlice {
  return build(endpointSliceKind, {
    metadata: { namespace: "ns", name: "web-x" },
    addressType,
    endpoints: drafts.map(({ ip, node, ready = true, serving, terminating, zones, nodes }) => ({
      addresses: [ip],
      conditions: {
        ready,
        ...(serving === undefined ? {} : { serving }),
        ...(terminating === undefined ? {} : { terminating }),
      },
      ...(node === undefined ? {} : { nodeName: node }),
      hints: {
        ...(zones === undefined ? {} : { forZones: zones.map((name) => ({ name })) }),
        ...(nodes === undefined ? {} : { forNodes: nodes.map((name) => ({ name })) }),
      },
    })),
    ports: [{ name: "p", port: 8080, protocol: "TCP" }],
  });
}

type ServiceDraft = ObjectDraft<Service>;
type Ingress = NonNullable<
  NonNullable<NonNullable<ServiceDraft["status"]>["loadBalancer"]>["ingress"]
>;

function decide(
  spec: ServiceDraft["spec"],
  endpoints: readonly Draft[],
  { family = "IPv4" as IpFamily, labels = {}, ingress = [] as Ingress } = {},
): readonly ServicePortRules[] {
  const service = build(serviceKind, {
    metadata: { namespace: "ns", name: "web", labels },
    spec: {
      type: "ClusterIP",
      clusterIP: "10.96.0.1",
      clusterIPs: ["10.96.0.1", "fd96::1"],
      ports: [{ name: "p", port: 80, protocol: "TCP", nodePort: 30080 }],
      ...spec,
    },
    status: { loadBalancer: { ingress } },
  });
  return decideServiceRules(service, [slice(endpoints, family)], family, NODE);
}

const ips = (endpoints: readonly { ip: string }[]): string => endpoints.map(({ ip }) => ip).join();

describe("endpoints of a Service port", () => {
  const rows: { name: string; spec?: object; endpoints: Draft[]; want: object }[] = [
    {
      name: "ready endpoints of every node",
      endpoints: [HERE, THERE],
      want: { cluster: "10.0.0.1,10.0.0.2", local: "", internal: undefined },
    },
    {
      name: "not ready ones are left out",
      endpoints: [{ ...HERE, ready: false }, THERE],
      want: { cluster: "10.0.0.2", local: "", internal: undefined },
    },
    {
      name: "no endpoints: REJECT",
      endpoints: [],
      want: { cluster: "", local: "", internal: "reject" },
    },
    {
      name: "only terminating ones that still serve: they are used",
      endpoints: [
        { ...HERE, ...DRAINING },
        { ...THERE, ready: false, serving: false },
      ],
      want: { cluster: "10.0.0.1", local: "", internal: undefined },
    },
    {
      name: "a ready one keeps traffic away from terminating ones",
      endpoints: [{ ...HERE, ...DRAINING }, THERE],
      want: { cluster: "10.0.0.2", local: "", internal: undefined },
    },
    {
      name: "internalTrafficPolicy Local: endpoints of this node",
      spec: { internalTrafficPolicy: "Local" },
      endpoints: [HERE, THERE],
      want: { cluster: "", local: "10.0.0.1", internal: undefined },
    },
    {
      name: "internalTrafficPolicy Local with remote endpoints only: DROP",
      spec: { internalTrafficPolicy: "Local" },
      endpoints: [THERE],
      want: { cluster: "", local: "", internal: "drop" },
    },
    {
      name: "zone hints on all endpoints: those of this zone",
      endpoints: [
        { ...HERE, zones: ["b"] },
        { ...THERE, zones: ["a"] },
      ],
      want: { cluster: "10.0.0.2", local: "", internal: undefined },
    },
    {
      name: "zone hints on some endpoints only are ignored",
      endpoints: [HERE, { ...THERE, zones: ["a"] }],
      want: { cluster: "10.0.0.1,10.0.0.2", local: "", internal: undefined },
    },
    {
      name: "zone hints that name other zones only are ignored",
      endpoints: [
        { ...HERE, zones: ["b"] },
        { ...THERE, zones: ["c"] },
      ],
      want: { cluster: "10.0.0.1,10.0.0.2", local: "", internal: undefined },
    },
    {
      name: "node hints (PreferSameNode) come before zone hints",
      endpoints: [
        { ...HERE, nodes: ["here"], zones: ["a"] },
        { ...THERE, nodes: ["there"], zones: ["a"] },
      ],
      want: { cluster: "10.0.0.1", local: "", internal: undefined },
    },
  ];
  for (const { name, spec = {}, endpoints, want } of rows) {
    test(name, () => {
      const [rules] = decide(spec, endpoints);
      const { cluster, local, internal } = rules!;
      assert.deepEqual(
        { cluster: ips(cluster), local: ips(local), internal: internal.refuse },
        want,
      );
    });
  }
});

describe("decideServiceRules: external traffic", () => {
  const nodePort = { type: "NodePort" };
  const local = { type: "NodePort", externalTrafficPolicy: "Local" };
  const rows = [
    { name: "ClusterIP: none", spec: {}, endpoints: [HERE], want: undefined },
    {
      name: "NodePort: cluster policy",
      spec: nodePort,
      endpoints: [HERE],
      want: { policy: "cluster", refuse: undefined },
    },
    {
      name: "NodePort without endpoints: REJECT",
      spec: nodePort,
      endpoints: [],
      want: { policy: "cluster", refuse: "reject" },
    },
    {
      name: "externalTrafficPolicy Local with a local endpoint",
      spec: local,
      endpoints: [HERE, THERE],
      want: { policy: "local", refuse: undefined },
    },
    {
      name: "externalTrafficPolicy Local with remote endpoints only: DROP",
      spec: local,
      endpoints: [THERE],
      want: { policy: "local", refuse: "drop" },
    },
  ];
  for (const { name, spec, endpoints, want } of rows) {
    test(name, () => assert.deepEqual(decide(spec, endpoints)[0]?.external, want));
  }
});

test("headless, ExternalName and Services of another proxy have no rules", () => {
  assert.deepEqual(decide({ clusterIP: "None", clusterIPs: ["None"] }, [HERE]), []);
  assert.deepEqual(decide({ type: "ExternalName" }, [HERE]), []);
  const labels = { "service.kubernetes.io/service-proxy-name": "other" };
  assert.deepEqual(decide({}, [HERE], { labels }), []);
});

test("dual stack: each family has its cluster IP and endpoints; single stack has none in the other", () => {
  const [six] = decide({}, [{ ip: "fd00::7", node: "here" }], { family: "IPv6" });
  assert.deepEqual([six?.clusterIp, ips(six?.cluster ?? [])], ["fd96::1", "fd00::7"]);
  assert.deepEqual(decide({ clusterIPs: ["10.96.0.1"] }, [], { family: "IPv6" }), []);
});

test("LoadBalancer: ingress IPs without ipMode Proxy; source ranges; the node's own range lets it in", () => {
  const ingress = [
    { ip: "203.0.113.1" },
    { ip: "203.0.113.2", ipMode: "Proxy" },
    { ip: "2001:db8::1" },
  ];
  const spec = {
    type: "LoadBalancer",
    loadBalancerSourceRanges: ["198.51.100.7/24", "2001:db8::/32"],
  };
  const [rules] = decide(spec, [HERE], { ingress });
  assert.deepEqual(rules?.loadBalancerIps, ["203.0.113.1"]);
  assert.deepEqual(rules?.sourceRanges, ["198.51.100.0/24"]);
  const own = { ...spec, loadBalancerSourceRanges: ["192.168.0.0/16"] };
  const [open] = decide(own, [HERE], { ingress });
  assert.deepEqual(open?.sourceRanges, ["192.168.0.0/16", "203.0.113.1/32"]);
});

test("sessionAffinity ClientIP: its timeout, three hours unless given", () => {
  assert.equal(decide({}, [HERE])[0]?.affinitySeconds, undefined);
  assert.equal(decide({ sessionAffinity: "ClientIP" }, [HERE])[0]?.affinitySeconds, 10_800);
  const sessionAffinityConfig = { clientIP: { timeoutSeconds: 7 } };
  const spec = { sessionAffinity: "ClientIP", sessionAffinityConfig };
  assert.equal(decide(spec, [HERE])[0]?.affinitySeconds, 7);
});
