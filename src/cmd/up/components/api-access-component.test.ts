import assert from "node:assert/strict";
import { test } from "vitest";
import { isLoopback } from "./api-access-component.ts";

const ROWS = [
  { address: "127.0.0.1", loopback: true },
  { address: "127.0.1.1", loopback: true },
  { address: "::1", loopback: true },
  { address: "localhost", loopback: true },
  { address: "0.0.0.0", loopback: false },
  { address: "192.168.1.10", loopback: false },
];

test.each(ROWS)("API access of pods: $address is loopback: $loopback", ({ address, loopback }) => {
  assert.equal(isLoopback(address), loopback);
});
