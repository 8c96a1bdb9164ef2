import assert from "node:assert/strict";
import { test } from "vitest";
import type { Endpoint } from "../../rules/endpoint.ts";
import type { ServicePortRules } from "../../rules/service-rules.ts";
import type { BaseRules } from "../writer.ts";
import { NftState } from "./nft-state.ts";

const BASE: BaseRules = {
  family: "IPv4",
  masqueradeAll: false,
  masqueradeMark: 0x4000,
  podNetworks: [],
  serviceNetworks: [],
  nodePortAddresses: "all",
  localhostNodePorts: false,
};

const NODE_PORT = { nodePort: 30_000, external: { policy: "cluster", refuse: undefined } };

function rules(name: string, endpoints: readonly Partial<Endpoint>[], more = {}): ServicePortRules {
  return {
    id: `ns/${name}/tcp/p`,
    protocol: "tcp",
    port: 80,
    clusterIp: `10.96.0.${name.length}`,
    externalIps: [],
    loadBalancerIps: [],
    nodePort: undefined,
    sourceRanges: undefined,
    affinitySeconds: undefined,
    cluster: endpoints as Endpoint[],
    local: [],
    internal: { policy: "cluster", refuse: endpoints.length === 0 ? "reject" : undefined },
    external: undefined,
    ...more,
  };
}

test("nftables: a changed endpoint of a ClusterIP Service is one element of a shared map", () => {
  const state = new NftState(BASE, "ip kube-proxy");
  const [one, two, three] = [1, 2, 3].map((n) => ({
    ip: `10.0.0.${n}`,
    port: 8080,
    isLocal: false,
  }));
  state.replace(new Map([["ns/a", [rules("a", [one!, two!])]]]));
  assert.deepEqual(state.replace(new Map([["ns/a", [rules("a", [one!, three!])]]])), [
    "delete element ip kube-proxy endpoints-tcp-1 { 10.96.0.1 . 80 }",
    "add element ip kube-proxy endpoints-tcp-1 { 10.96.0.1 . 80 : 10.0.0.3 . 8080 }",
  ]);
  assert.deepEqual(state.replace(new Map([["ns/a", [rules("a", [three!])]]])), [
    "delete element ip kube-proxy service-ips { 10.96.0.1 . tcp . 80 }",
    "delete element ip kube-proxy endpoints-tcp-0 { 10.96.0.1 . 80 }",
    "delete element ip kube-proxy endpoints-tcp-1 { 10.96.0.1 . 80 }",
    "add element ip kube-proxy service-ips { 10.96.0.1 . tcp . 80 : goto endpoint-tcp-0 }",
    "add element ip kube-proxy endpoints-tcp-0 { 10.96.0.1 . 80 : 10.0.0.3 . 8080 }",
  ]);
});

test("nftables: of two Services with one cluster IP the first by name gets it, then the other", () => {
  const state = new NftState(BASE, "ip kube-proxy");
  const one = { ip: "10.0.0.1", port: 8080, isLocal: false };
  const two = { ip: "10.0.0.2", port: 8080, isLocal: false };
  state.replace(new Map([["ns/a", [rules("a", [one])]]]));
  assert.deepEqual(state.replace(new Map([["ns/b", [rules("b", [two, one])]]])).slice(3), [
    "add chain ip kube-proxy balance-tcp-2",
    "add rule ip kube-proxy balance-tcp-2 numgen random mod 2 vmap { 0 : goto endpoint-tcp-0, 1 : goto endpoint-tcp-1 }",
  ]);
  assert.deepEqual(state.replace(new Map([["ns/a", []]])), [
    "delete element ip kube-proxy service-ips { 10.96.0.1 . tcp . 80 }",
    "delete element ip kube-proxy endpoints-tcp-0 { 10.96.0.1 . 80 }",
    "add element ip kube-proxy service-ips { 10.96.0.1 . tcp . 80 : goto balance-tcp-2 }",
    "add element ip kube-proxy endpoints-tcp-0 { 10.96.0.1 . 80 : 10.0.0.2 . 8080 }",
    "add element ip kube-proxy endpoints-tcp-1 { 10.96.0.1 . 80 : 10.0.0.1 . 8080 }",
  ]);
});

test("nftables: a changed endpoint of a NodePort Service rewrites one chain and nothing else", () => {
  const state = new NftState(BASE, "ip kube-proxy");
  const one = { ip: "10.0.0.1", port: 8080, isLocal: false };
  const two = { ip: "10.0.0.2", port: 8080, isLocal: false };
  state.replace(new Map([["ns/a", [rules("a", [one], NODE_PORT)]]]));
  const commands = state.replace(new Map([["ns/a", [rules("a", [one, two], NODE_PORT)]]]));
  assert.deepEqual(
    commands.map((command) => command.split(" ").slice(0, 2).join(" ")),
    ["flush chain", "add rule"],
  );
  assert.deepEqual(state.replace(new Map([["ns/a", [rules("a", [one, two], NODE_PORT)]]])), []);
});

test("nftables: an element of two Services stays until both are gone", () => {
  const state = new NftState(BASE, "ip kube-proxy");
  const local = { ip: "10.0.0.1", port: 8080, isLocal: true };
  const hairpin = (commands: readonly string[]): string[] =>
    commands.filter((command) => command.includes("hairpin-connections"));
  const first = state.replace(new Map([["ns/a", [rules("a", [local])]]]));
  assert.match(hairpin(first).join(), /^add element/);
  assert.deepEqual(hairpin(state.replace(new Map([["ns/bb", [rules("bb", [local])]]]))), []);
  assert.deepEqual(hairpin(state.replace(new Map([["ns/a", []]]))), []);
  assert.match(hairpin(state.replace(new Map([["ns/bb", []]]))).join(), /^delete element/);
});
