import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { build } from "#testing/build.ts";
import { nodeIpam } from "./node-ipam.ts";
import { type Pool, poolOf } from "./pool.ts";

function pool(cidr: string, size: number): Pool {
  const made = poolOf(cidr, size);
  if ("fault" in made) throw new Error(made.fault);
  return made;
}

const node = (name: string, ...podCIDRs: readonly string[]): Node =>
  build(nodeKind, { metadata: { name }, spec: podCIDRs.length === 0 ? {} : { podCIDRs } });

const V4 = pool("10.0.0.0/22", 24);
const V6 = pool("fd00::/62", 64);

const rows: {
  name: string;
  pools?: readonly Pool[];
  reserved?: readonly string[];
  nodes: readonly Node[];
  cursors?: readonly number[];
  want: Readonly<Record<string, readonly string[]>>;
  events?: readonly string[];
  remember?: readonly number[];
}[] = [
  {
    name: "nodes that have their podCIDR are left alone",
    nodes: [node("a", "10.0.0.0/24")],
    want: {},
  },
  {
    name: "podCIDRs are given in turn, past those that are taken",
    nodes: [node("a", "10.0.0.0/24"), node("b"), node("c")],
    want: { b: ["10.0.1.0/24"], c: ["10.0.2.0/24"] },
    remember: [3],
  },
  {
    name: "past what is reserved",
    reserved: ["10.0.0.0/23"],
    nodes: [node("a")],
    want: { a: ["10.0.2.0/24"] },
    remember: [3],
  },
  {
    name: "from where it was, and around",
    nodes: [node("a"), node("b")],
    cursors: [3],
    want: { a: ["10.0.3.0/24"], b: ["10.0.0.0/24"] },
    remember: [1],
  },
  {
    name: "a node gets one podCIDR of each family",
    pools: [V4, V6],
    nodes: [node("a")],
    want: { a: ["10.0.0.0/24", "fd00::/64"] },
    remember: [1, 1],
  },
  {
    name: "none is left",
    reserved: ["10.0.0.0/22"],
    nodes: [node("a")],
    want: {},
    events: ["Node a status is now: CIDRNotAvailable"],
    remember: [0],
  },
];

describe("podCIDRs of nodes", () => {
  for (const { name, pools = [V4], reserved = [], nodes, cursors, want, ...row } of rows) {
    test(name, () => {
      const state = { nodes, cursors: cursors ?? pools.map(() => 0) };
      const outcome = nodeIpam({ pools, reserved }).decide(state, 0);
      const given = (outcome.writes ?? []).flat().map((write) => {
        if (write.op !== "patch") throw new Error(write.op);
        const { spec } = write.patch as { spec: { podCIDR: string; podCIDRs: readonly string[] } };
        assert.equal(spec.podCIDR, spec.podCIDRs[0]);
        return [write.target.name, spec.podCIDRs];
      });
      assert.deepEqual(Object.fromEntries(given), want);
      const events = (outcome.events ?? []).map(({ message }) => message);
      assert.deepEqual(events, row.events ?? []);
      assert.deepEqual(outcome.remember, row.remember);
    });
  }
});
