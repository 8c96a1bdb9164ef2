import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { AllowRule, PolicyRuleSet } from "../rules/policy-rules.ts";
import { mergeRanges } from "./merge-ranges.ts";
import { changeTable, EMPTY_TABLE } from "./nft-table.ts";
import { renderAllowRules } from "./render-allow-rules.ts";
import { renderPolicies, TABLE } from "./render-policies.ts";

function world(peers: readonly string[], allow: AllowRule[] = [rule()]): PolicyRuleSet {
  return {
    isolated: new Map([["10.0.0.1", { ingress: ["x/p"], egress: undefined }]]),
    policies: new Map([["x/p", { ingress: allow, egress: [] }]]),
    peers: new Map([["k", peers]]),
    namedPorts: new Map(),
  };
}

function rule(more: Partial<AllowRule> = {}): AllowRule {
  return { peers: [{ type: "pods", key: "k" }], ports: "all", ...more };
}

describe("nftables of policies", () => {
  test("a pod that comes and one that goes are two elements and nothing else", () => {
    const old = renderPolicies(world(["10.0.0.2", "10.0.0.3"]));
    const next = renderPolicies(world(["10.0.0.3", "10.0.0.4", "fd00::4"]));
    const { commands, removals } = changeTable(TABLE, old, next);
    assert.deepEqual(
      commands.map((command) => command.replace(/peers-\w+/, "peers")),
      [
        `delete element ${TABLE} peers-ip { 10.0.0.2 }`,
        `add element ${TABLE} peers-ip { 10.0.0.4 }`,
        `add element ${TABLE} peers-ip6 { fd00::4 }`,
      ],
    );
    assert.deepEqual(removals, []);
  });

  test("chains and sets without users are flushed, then removed in a transaction of their own", () => {
    const { commands, removals } = changeTable(TABLE, renderPolicies(world([])), EMPTY_TABLE);
    assert.ok(commands.every((command) => command.startsWith("flush chain")));
    assert.ok(removals.every((command) => command.startsWith("delete ")));
  });

  test("peers and ports are not multiplied", () => {
    const peers = Array.from({ length: 50 }, (_, i) => ({
      type: "block" as const,
      cidr: `10.${i}.0.0/16`,
      except: [`10.${i}.1.0/24`],
    }));
    const ports = Array.from({ length: 50 }, (_, i) => ({
      type: "named" as const,
      protocol: "tcp" as const,
      key: `tcp p${i}`,
    }));
    const chains = renderAllowRules("c", [{ peers, ports }], "ingress");
    assert.equal([...chains.values()].flat().length, 50 + 2 * 50);
  });

  test("an egress rule hands on to ingress, an ingress rule accepts", () => {
    const everything: AllowRule = { peers: "all", ports: "all" };
    assert.deepEqual(renderAllowRules("c", [everything], "egress").get("c"), ["goto ingress"]);
    assert.deepEqual(renderAllowRules("c", [everything], "ingress").get("c"), ["accept"]);
  });

  test("a rule whose peers or ports match nothing allows nothing", () => {
    assert.deepEqual(renderAllowRules("c", [rule({ peers: [] })], "ingress").get("c"), []);
    assert.deepEqual(renderAllowRules("c", [rule({ ports: [] })], "ingress").get("c"), []);
  });
});

test("mergeRanges: port ranges of a NetworkPolicy that overlap or touch are merged", () => {
  assert.deepEqual(
    mergeRanges([
      [90, 100],
      [80, 80],
      [81, 81],
      [95, 120],
      [443, 443],
    ]),
    [
      [80, 81],
      [90, 120],
      [443, 443],
    ],
  );
});
