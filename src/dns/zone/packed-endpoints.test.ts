import assert from "node:assert/strict";
import { test } from "vitest";
import { packEndpoints, unpackEndpoints } from "./packed-endpoints.ts";

const IPV6 = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

test("packed endpoints: addresses and hostnames are unpacked unchanged", () => {
  for (const endpoints of [
    [],
    [{ hostname: "10-0-0-1", address: [10, 0, 0, 1] }],
    [
      { hostname: "web-0", address: [10, 0, 0, 1] },
      { hostname: "10-0-0-2", address: [10, 0, 0, 2] },
      { hostname: "fd00--1", address: IPV6 },
      { hostname: "w".repeat(63), address: IPV6 },
      { hostname: "010-0-0-3", address: [10, 0, 0, 3] },
    ],
  ]) {
    assert.deepEqual(unpackEndpoints(packEndpoints(endpoints)), endpoints);
  }
});

test("packed endpoints: an IPv4 endpoint without a hostname of its own takes six characters", () => {
  assert.equal(packEndpoints([{ hostname: "10-0-0-1", address: [10, 0, 0, 1] }]).length, 6);
});
