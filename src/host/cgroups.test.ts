import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { cgroupRefusal } from "./cgroups.ts";

describe("cgroups that a node needs", () => {
  const cases = [
    { name: "version 2", mounted: ["cgroup.controllers", "cgroup.procs"], refusal: undefined },
    {
      name: "version 1",
      mounted: ["cpu", "cpuacct", "cpuset", "memory", "pids"],
      refusal: undefined,
    },
    {
      name: "a node whose cgroups are hidden by ip netns exec is refused",
      mounted: [],
      refusal: "has none (",
    },
    {
      name: "a node without the memory controller is refused",
      mounted: ["cpu", "cpuacct", "cpuset"],
      refusal: "has no memory (",
    },
  ];
  for (const { name, mounted, refusal } of cases) {
    test(name, async () => {
      const root = await mkdtemp(join(tmpdir(), "k8ts-cgroups-"));
      try {
        for (const entry of mounted) await mkdir(join(root, entry));
        const found = await cgroupRefusal(root);
        if (refusal === undefined) assert.equal(found, undefined);
        else assert.ok(found?.includes(refusal), found);
      } finally {
        await rm(root, { recursive: true });
      }
    });
  }
});
