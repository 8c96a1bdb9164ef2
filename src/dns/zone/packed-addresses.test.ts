import assert from "node:assert/strict";
import { test } from "vitest";
import { addressKey, packAddresses, unpackAddresses } from "./packed-addresses.ts";

const IPV4 = [10, 96, 0, 255];
const IPV6 = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

test("packed addresses: IPv4 and IPv6 addresses of a dual-stack Service are unpacked unchanged", () => {
  for (const addresses of [[], [IPV4], [IPV6], [IPV4, IPV6], [IPV6, IPV4, [0, 0, 0, 0]]]) {
    assert.deepEqual(unpackAddresses(packAddresses(addresses)), addresses);
  }
});

test("packed addresses: different addresses have different keys, equal ones the same", () => {
  const addresses = [IPV4, IPV6, [10, 96, 0, 254], [138, 96, 0, 255], [255, 255, 255, 255]];
  assert.equal(new Set(addresses.map(addressKey)).size, addresses.length);
  assert.equal(addressKey([...IPV6]), addressKey(IPV6));
});
