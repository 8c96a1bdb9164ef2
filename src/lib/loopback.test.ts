import assert from "node:assert/strict";
import { test } from "vitest";
import { isLoopback } from "./loopback.ts";

test("isLoopback: localhost, 127.0.0.0/8 and ::1 are loopback addresses, others are not", () => {
  const addresses = ["localhost", "127.0.0.1", "127.1.2.3", "::1", "10.0.0.1", "::", "0.0.0.0", ""];
  assert.deepEqual(addresses.filter(isLoopback), ["localhost", "127.0.0.1", "127.1.2.3", "::1"]);
});
