import assert from "node:assert/strict";
import { test } from "vitest";
import { blockDeviceName, parseBlkio, parseIoStat } from "./block-io.ts";

test("parseBlkio: operations by device, without the total of all devices", () => {
  const bytes = "254:0 Read 4096\n254:0 Write 0\n254:0 Total 4096\n7:0 Read 1\nTotal 4097\n";
  assert.deepEqual(parseBlkio(bytes, "254:0 Read 1\nTotal 1\n"), [
    { device: "254:0", bytes: { Read: 4096, Write: 0, Total: 4096 }, operations: { Read: 1 } },
    { device: "7:0", bytes: { Read: 1 }, operations: {} },
  ]);
  assert.deepEqual(parseBlkio("Total 0\n", ""), []);
});

test("parseIoStat: devices without counters are left out", () => {
  const text = "254:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n7:1\n7:0 \n";
  assert.deepEqual(parseIoStat(text), [
    { device: "254:0", bytes: { Read: 1, Write: 2 }, operations: { Read: 3, Write: 4 } },
  ]);
});

test("blockDeviceName: from the kernel's uevent; empty for a device that is not known", async () => {
  const read = async (path: string): Promise<string | undefined> =>
    path === "/sys/dev/block/254:1/uevent"
      ? "MAJOR=254\nMINOR=1\nDEVNAME=vda1\nDEVTYPE=partition\n"
      : undefined;
  assert.equal(await blockDeviceName("254:1", read), "/dev/vda1");
  assert.equal(await blockDeviceName("0:44", read), "");
});
