import assert from "node:assert/strict";
import { test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { componentsOf } from "./components.ts";
import { parseUpFlags } from "./up-flags.ts";

const surroundings = {
  ...{ clock: new VirtualClock("2030-01-01T00:00:00Z"), random: seededRandom(1) },
  ...{ logger: silentLogger, hostname: "machine" },
};
const nodes = { network: "10.201.7", requested: 1, nodes: [] };

test.each([
  { args: [], real: true, runs: true },
  { args: ["--nodes", "2"], real: true, runs: true },
  { args: ["--no-load-balancer"], real: true, runs: false },
  { args: ["--no-node"], real: false, runs: false },
])("up $args: cloud-controller-manager with load balancers runs: $runs", ({ args, real, runs }) => {
  const flags = parseUpFlags(args);
  const components = componentsOf(surroundings, () => undefined, flags, real ? nodes : undefined);
  const names = components.map(({ name }) => name);
  assert.equal(names.includes("cloud-controller-manager"), runs);
});
