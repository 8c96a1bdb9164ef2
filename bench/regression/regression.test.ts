import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { test } from "vitest";
import type { Costs } from "./costs.ts";

/** About three times what they are on a busy machine. Ratios of processor times, so any machine will do. */
const LIMITS: Costs = {
  create: 600,
  get: 20,
  update: 700,
  listed: 3,
  podToRunning: 4_000,
  growth: 4,
};

const WITHIN_MS = 240_000;

test(
  "benchmark regression check: processor time of create, get, update, list and of a pod to Running",
  async () => {
    // A process of its own: tests of other files share this one, and its processor time.
    const script = fileURLToPath(new URL("costs.ts", import.meta.url));
    const args = ["--import", "tsx", script, "--print"];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const costs = JSON.parse(stdout) as Costs;
    const exceeded = (Object.keys(LIMITS) as (keyof Costs)[]).filter(
      (name) => !(costs[name] <= LIMITS[name]),
    );
    assert.deepEqual(exceeded, [], `${JSON.stringify(costs)} beside ${JSON.stringify(LIMITS)}`);
  },
  WITHIN_MS,
);
