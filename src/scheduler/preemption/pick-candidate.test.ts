import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { build } from "#testing/build.ts";
import { pickCandidate } from "./pick-candidate.ts";
import type { Candidate } from "./victims.ts";

const NOW_MS = Date.parse("2030-01-10T00:00:00Z");

/** Victims as PRIORITY@DAY of their start. */
function candidate(node: string, violations: number, ...victims: readonly string[]): Candidate {
  return {
    ...{ node, violations },
    victims: victims.map((text, index) => {
      const [priority, day = "1"] = text.split("@");
      const pod = build(podKind, {
        metadata: { name: `${node}-${index}` },
        spec: { priority: Number(priority) },
        status: { startTime: `2030-01-0${day}T00:00:00Z` },
      });
      return new PodInfo(pod);
    }),
  };
}

describe("preemption takes the node", () => {
  const rows = [
    {
      name: "with fewer violated PodDisruptionBudgets",
      candidates: [candidate("a", 1, "1"), candidate("b", 0, "9", "9")],
    },
    {
      name: "whose most important victim is less important",
      candidates: [candidate("a", 0, "5"), candidate("b", 0, "4", "4", "4")],
    },
    {
      name: "with the smaller sum of priorities",
      candidates: [candidate("a", 0, "5", "3"), candidate("b", 0, "5", "2")],
    },
    {
      name: "with fewer victims",
      candidates: [candidate("a", 0, "5", "5"), candidate("b", 0, "5")],
    },
    {
      name: "whose most important victims started later",
      candidates: [candidate("a", 0, "5@2", "1@9"), candidate("b", 0, "5@3", "1@1")],
    },
    {
      name: "that came first among equals",
      candidates: [candidate("b", 0, "5"), candidate("a", 0, "5")],
    },
  ];
  for (const { name, candidates } of rows) {
    test(name, () => assert.equal(pickCandidate(candidates, NOW_MS).node, "b"));
  }
});
