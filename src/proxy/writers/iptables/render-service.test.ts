import assert from "node:assert/strict";
import { test } from "vitest";
import type { Endpoint } from "../../rules/endpoint.ts";
import type { ServicePortRules } from "../../rules/service-rules.ts";
import { natTail, sameAddresses } from "./render-base.ts";
import { type IptablesBase, renderService } from "./render-service.ts";

const BASE: IptablesBase = {
  ...{ family: "IPv4", masqueradeAll: false, masqueradeMark: 0x4000, podNetworks: [] },
  ...{ serviceNetworks: [], nodePortAddresses: "all", localhostNodePorts: false },
  matchesHairpin: true,
};
const ENDPOINTS = [1, 2, 3].map((n) => ({ ip: `10.0.0.${n}`, port: 8080 })) as Endpoint[];
const RULES: ServicePortRules = {
  ...{ id: "ns/a/tcp/p", protocol: "tcp", port: 80, clusterIp: "10.96.0.1" },
  ...{ externalIps: [], loadBalancerIps: [], nodePort: undefined, sourceRanges: undefined },
  ...{ affinitySeconds: undefined, cluster: ENDPOINTS, local: [] },
  ...{ internal: { policy: "cluster", refuse: undefined }, external: undefined },
};

test("iptables: a Service has one chain that translates with equal chances", () => {
  const { chains } = renderService(BASE, [RULES]);
  const to = "-p tcp -j DNAT --to-destination";
  const chance = "-m statistic --mode random --probability";
  assert.deepEqual(
    [...chains.values()],
    [
      [
        `${chance} 0.3333333333 ${to} 10.0.0.1:8080`,
        `${chance} 0.5000000000 ${to} 10.0.0.2:8080`,
        `${to} 10.0.0.3:8080`,
      ],
    ],
  );
});

const endpointChains = (base: IptablesBase, rules: ServicePortRules): string[][] =>
  [...renderService(base, [rules]).chains]
    .filter(([name]) => name.startsWith("KUBE-SEP-"))
    .map(([, lines]) => [...lines]);

test("iptables: session affinity ClientIP needs a chain for each endpoint that remembers clients", () => {
  const chains = endpointChains(BASE, { ...RULES, affinitySeconds: 60 });
  assert.equal(chains.length, 3);
  assert.match(chains.join(), /-m recent --name KUBE-SEP-\w+ --set -p tcp -j DNAT/);
});

test("iptables: without `-m bpf` in the kernel each endpoint has a chain that marks hairpin packets", () => {
  const chains = endpointChains({ ...BASE, matchesHairpin: false }, RULES);
  assert.equal(chains.length, 3);
  for (const [i, [mark = "", translate = ""]] of chains.entries()) {
    assert.match(mark, new RegExp(`-s 10\\.0\\.0\\.${i + 1}/32 -j KUBE-MARK-MASQ$`));
    assert.match(translate, /-p tcp -j DNAT --to-destination 10\.0\.0\.\d:8080$/);
  }
});

test("iptables: a LoadBalancer with source ranges and no endpoints refuses all clients, as kube-proxy does", () => {
  const rules: ServicePortRules = {
    ...{ ...RULES, cluster: [], loadBalancerIps: ["10.245.0.1"], sourceRanges: ["10.9.0.0/16"] },
    ...{ internal: { policy: "cluster", refuse: "reject" } },
    ...{ external: { policy: "cluster", refuse: "reject" } },
  };
  const { shared, chains } = renderService(BASE, [rules]);
  assert.equal(chains.size, 0);
  assert.equal(shared.get("filter KUBE-PROXY-FIREWALL"), undefined);
  const [refusal = ""] = shared.get("filter KUBE-EXTERNAL-SERVICES") ?? [];
  assert.match(refusal, /-d 10\.245\.0\.1\/32 .* -j REJECT/);
});

/** A machine for the instructions that `sameAddresses` uses. */
function runFilter(match: string, packet: Buffer): number {
  const [, text = ""] = /--bytecode "([^"]*)"/.exec(match) ?? [];
  const [count, ...code] = text.split(",");
  assert.equal(code.length, Number(count));
  let [a, x] = [0, 0];
  for (let at = 0; at < code.length; at++) {
    const [op, ifTrue = 0, ifFalse = 0, k = 0] = code[at]!.split(" ").map(Number);
    if (op === 32) a = packet.readUInt32BE(k);
    else if (op === 7) x = a;
    else if (op === 29) at += a === x ? ifTrue : ifFalse;
    else if (op === 6) return k;
    else assert.fail(code[at]);
  }
  return assert.fail("no return");
}

test.each(["IPv4", "IPv6"] as const)("iptables: hairpin packets of %s are recognized", (family) => {
  const { source, bytes } = family === "IPv4" ? { source: 12, bytes: 4 } : { source: 8, bytes: 16 };
  const packet = Buffer.alloc(40);
  packet.fill(7, source, source + 2 * bytes);
  assert.equal(runFilter(sameAddresses(family), packet), 1);
  for (let at = source; at < source + 2 * bytes; at++) {
    const other = Buffer.from(packet);
    other[at] = 8;
    assert.equal(runFilter(sameAddresses(family), other), 0, `byte ${at}`);
  }
});

test("iptables: node ports answer at loopback addresses only if they may", () => {
  const rule = (localhostNodePorts: boolean): string =>
    natTail({ ...BASE, localhostNodePorts }).find((line) => line.includes("KUBE-NODEPORTS"))!;
  assert.match(rule(false), /--dst-type LOCAL ! -d 127\.0\.0\.0\/8 -j/);
  assert.match(rule(true), /--dst-type LOCAL -j/);
});
