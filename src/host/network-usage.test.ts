import assert from "node:assert/strict";
import { test } from "vitest";
import { parseNetDev, readNetworkUsage } from "./network-usage.ts";

const TITLES = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
`;

test("parseNetDev: bytes, packets, errors and drops of each interface, without loopback and veth", () => {
  const text = `${TITLES}    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0
  eth0: 900 20 1 2 0 0 0 0 800 10 3 4 0 0 0 0
vethab12:5 5 0 0 0 0 0 0 5 5 0 0 0 0 0 0
`;
  assert.deepEqual(parseNetDev(text), [
    {
      ...{ name: "eth0", rxBytes: 900, rxPackets: 20, rxErrors: 1, rxDropped: 2 },
      ...{ txBytes: 800, txPackets: 10, txErrors: 3, txDropped: 4 },
    },
  ]);
});

test("readNetworkUsage: the network of a process that has ended is empty", async () => {
  assert.deepEqual(await readNetworkUsage(1, async () => undefined), []);
});
