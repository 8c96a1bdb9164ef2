import assert from "node:assert/strict";
import { test } from "vitest";
import { cpuCheckpointText, parseCpuCheckpoint } from "./cpu-checkpoint.ts";

test("cpu_manager_state: text and checksum are those of upstream's kubelet", () => {
  const state = {
    shared: [1, 2, 3],
    assigned: new Map([
      [
        "pod",
        new Map([
          ["container1", [4, 5, 6]],
          ["container2", [1, 2, 3]],
        ]),
      ],
    ]),
  };
  const text =
    '{"policyName":"none","defaultCpuSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"1-3"}},"checksum":3610638499}';
  assert.equal(cpuCheckpointText("none", state), text);
  assert.deepEqual(parseCpuCheckpoint("none", text), state);
  assert.equal(
    cpuCheckpointText("none", { shared: [], assigned: new Map() }),
    '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
  );
});
