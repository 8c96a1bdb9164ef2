import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { readDeviceState, writeDeviceState } from "./device-checkpoint.ts";

/** Written by upstream's kubelet 1.36. */
const UPSTREAM =
  '{"Data":{"PodDeviceEntries":[{"PodUID":"uid-1","ContainerName":"main","ResourceName":"example.com/dev","DeviceIDs":{"-1":["d1","d2"],"0":["d3"]},"AllocResp":"CgYKAUESAUI="}],"RegisteredDevices":{"b.example/x":[],"example.com/dev":["d1","d2","d3"]}},"Checksum":1413988404}';

test("kubelet_internal_checkpoint: the checksum of upstream's kubelet is accepted, damage counts as empty", async () => {
  const folder = await mkdtemp(join(tmpdir(), "k8ts-devices-"));
  const file = join(folder, "kubelet_internal_checkpoint");
  try {
    await writeFile(file, UPSTREAM);
    const read = await readDeviceState(folder);
    assert.deepEqual(read.resources, ["b.example/x", "example.com/dev"]);
    const [allocation] = read.allocations;
    assert.deepEqual([...(allocation?.deviceIds ?? [])].sort(), ["d1", "d2", "d3"]);
    assert.equal(allocation?.response.envs.A, "B");
    await writeDeviceState(folder, read);
    assert.deepEqual(await readDeviceState(folder), read);
    await writeFile(file, (await readFile(file, "utf8")).replace("uid-1", "uid-2"));
    assert.deepEqual(await readDeviceState(folder), { allocations: [], resources: [] });
  } finally {
    await rm(folder, { recursive: true });
  }
});
