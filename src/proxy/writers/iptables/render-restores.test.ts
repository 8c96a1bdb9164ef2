import { describe, expect, it } from "vitest";
import {
  type OwnChains,
  renderRemoval,
  renderRestores,
  type SharedLines,
} from "./render-restores.ts";
import type { IptablesBase } from "./render-service.ts";

const base: IptablesBase = {
  family: "IPv4",
  masqueradeAll: false,
  masqueradeMark: 0x4000,
  podNetworks: ["10.244.0.0/16"],
  serviceNetworks: ["10.96.0.0/16"],
  nodePortAddresses: "all",
  localhostNodePorts: false,
  matchesHairpin: true,
};
const service = (name: string, endpoints: number): OwnChains =>
  new Map([
    [`SVC-${name}`, Array.from({ length: endpoints }, (_, i) => `-j SEP-${name}-${i}`)],
    ...Array.from({ length: endpoints }, (_, i): [string, string[]] => [
      `SEP-${name}-${i}`,
      ["-j DNAT"],
    ]),
  ]);
const shared: SharedLines = new Map([["nat KUBE-SERVICES", ["-d 10.96.0.1/32 -j SVC-a"]]]);
const none = new Set<string>();

describe("renderRemoval: iptables-restore inputs", () => {
  it("is one input with shared chains, chains of Services and removals for a small change", () => {
    const own = [service("a", 2)];
    const stale = new Set(["SEP-a-2"]);
    const inputs = renderRestores({ base, own, shared: [shared], stale, isWhole: true });
    expect(inputs).toHaveLength(1);
    expect(inputs[0]).toContain("-A KUBE-SERVICES -d 10.96.0.1/32 -j SVC-a\n");
    expect(inputs[0]).toContain("-A SVC-a -j SEP-a-1\n");
    expect(inputs[0]).toContain(":SEP-a-2 - [0:0]\n");
    expect(inputs[0]).toMatch(/-X SEP-a-2\nCOMMIT\n$/);
  });

  it("leaves shared chains alone if none of their rules changed", () => {
    const own = [service("a", 1)];
    const [input = ""] = renderRestores({
      base,
      own,
      shared: undefined,
      stale: none,
      isWhole: false,
    });
    expect(input.split("\n")).toEqual([
      ...["*nat", ":SVC-a - [0:0]", ":SEP-a-0 - [0:0]"],
      ...["-A SVC-a -j SEP-a-0", "-A SEP-a-0 -j DNAT", "COMMIT", ""],
    ]);
  });

  it("is nothing if nothing changed", () => {
    const nothing = { base, own: [], shared: undefined, stale: none, isWhole: false };
    expect(renderRestores(nothing)).toEqual([]);
  });

  it("cuts a large change between Services: chains first, then what leads to them, then removals", () => {
    const own = Array.from({ length: 300 }, (_, i) => service(`s${i}`, 10));
    const stale = new Set(["SEP-old"]);
    const inputs = renderRestores({ base, own, shared: [shared], stale, isWhole: true });
    expect(inputs[0]).toContain("-A KUBE-MARK-MASQ -j MARK");
    const declaredIn = (name: string): number[] =>
      inputs.flatMap((input, at) => (input.includes(`:${name} - `) ? [at] : []));
    const dispatch = inputs.findIndex((input) => input.includes("-A KUBE-SERVICES -d"));
    for (let i = 0; i < 300; i++) {
      const [at = -1] = declaredIn(`SVC-s${i}`);
      expect(declaredIn(`SEP-s${i}-9`)).toEqual([at]);
      expect(at).toBeLessThan(dispatch);
    }
    expect(inputs.findIndex((input) => input.includes("-X SEP-old"))).toBeGreaterThan(dispatch);
    for (const input of inputs) {
      expect(input.match(/^:/gm)?.length ?? 0).toBeLessThanOrEqual(250);
    }
  });

  it("empties every chain before it removes the first of many", () => {
    const names = Array.from({ length: 625 }, (_, i) => `SEP-${i}`);
    const inputs = renderRemoval("nat", names);
    const isRemoving = inputs.map((input) => input.includes("-X "));
    expect(isRemoving).toEqual([false, false, false, true, true, true]);
  });
});
