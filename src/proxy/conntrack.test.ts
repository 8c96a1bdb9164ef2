import assert from "node:assert/strict";
import { test } from "vitest";
import { decideStaleFlows, parseFlows, selectionsOf } from "./conntrack.ts";
import type { ServicePortRules } from "./rules/service-rules.ts";

const LINE = (destination: string, port: number, reply: string): string =>
  `udp      17 29 src=10.0.0.9 dst=${destination} sport=4000 dport=${port} src=${reply} dst=10.0.0.9 sport=5353 dport=4000 mark=0 use=1`;

const DNS: ServicePortRules = {
  id: "default/dns/udp/dns",
  protocol: "udp",
  clusterIp: "10.96.0.10",
  port: 53,
  externalIps: [],
  loadBalancerIps: [],
  nodePort: 30053,
  cluster: [
    {
      ...{ ip: "10.0.0.1", port: 5353, isLocal: true, isReady: true, isServing: true },
      ...{ isTerminating: false, zoneHints: [], nodeHints: [] },
    },
  ],
  local: [],
  ...{ sourceRanges: undefined, affinitySeconds: undefined },
  internal: { policy: "cluster", refuse: undefined },
  external: { policy: "cluster", refuse: undefined },
};

const rows = [
  { name: "to a current endpoint: kept", line: LINE("10.96.0.10", 53, "10.0.0.1"), stale: 0 },
  { name: "to a former endpoint: deleted", line: LINE("10.96.0.10", 53, "10.0.0.2"), stale: 1 },
  { name: "of the node port: deleted", line: LINE("192.168.0.5", 30053, "10.0.0.2"), stale: 1 },
  { name: "to the same port elsewhere: kept", line: LINE("8.8.8.8", 30053, "8.8.8.8"), stale: 0 },
  { name: "to an address of no Service: kept", line: LINE("10.96.0.11", 53, "10.0.0.2"), stale: 0 },
];

for (const { name, line, stale } of rows) {
  test(`UDP conntrack entry ${name}`, () => {
    const services = { keys: () => ["ns/dns"], get: () => [DNS] };
    const found = decideStaleFlows(parseFlows(`${line}\n`), services, ["192.168.0.5"]);
    assert.equal(found.length, stale);
  });
}

test("UDP conntrack entries of many clients to one endpoint are deleted by one command", () => {
  const lines = Array.from({ length: 500 }, (_, i) =>
    LINE("10.96.0.10", 53, i < 499 ? "10.0.0.2" : "10.0.0.3").replace("sport=4000", `sport=${i}`),
  );
  const select = (reply: string): string[] => [
    ...["--orig-dst", "10.96.0.10", "--orig-port-dst", "53"],
    ...["--reply-src", reply, "--reply-port-src", "5353"],
  ];
  const flows = parseFlows(lines.join("\n"));
  assert.equal(flows.length, 500);
  assert.deepEqual(selectionsOf(flows), [select("10.0.0.2"), select("10.0.0.3")]);
});
