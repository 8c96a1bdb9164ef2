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
};

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

test("nftables: a changed endpoint rewrites one chain and nothing else", () => {
  const state = new NftState(BASE, "ip kube-proxy");
  const one = { ip: "10.0.0.1", port: 8080, isLocal: false };
  const two = { ip: "10.0.0.2", port: 8080, isLocal: false };
  state.replace(new Map([["ns/a", [rules("a", [one])]]]));
  const commands = state.replace(new Map([["ns/a", [rules("a", [one, two])]]]));
  assert.deepEqual(
    commands.map((command) => command.split(" ").slice(0, 2).join(" ")),
    ["flush chain", "add rule"],
  );
  assert.deepEqual(state.replace(new Map([["ns/a", [rules("a", [one, two])]]])), []);
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
