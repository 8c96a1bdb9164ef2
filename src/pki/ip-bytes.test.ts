import assert from "node:assert/strict";
import { isIP } from "node:net";
import { describe, test } from "vitest";
import { tryIpBytes } from "./ip-bytes.ts";

const V4_IN_V6 = "00000000000000000000ffff01020304";

const addresses: Record<string, string> = {
  "10.0.255.1": "0a00ff01",
  "0.0.0.0": "00000000",
  "::1": `${"0".repeat(31)}1`,
  "::": "0".repeat(32),
  "fd00:12:345::A": "fd00001203450000000000000000000a",
  "1:2:3:4:5:6:7:8": "00010002000300040005000600070008",
  "1:2:3:4:5:6:7::": "00010002000300040005000600070000",
  "::ffff:1.2.3.4": V4_IN_V6,
  "0:0:0:0:0:ffff:1.2.3.4": V4_IN_V6,
};

describe("tryIpBytes of an address", () => {
  for (const [text, want] of Object.entries(addresses)) {
    test(`${text} is ${want}`, () => {
      assert.notEqual(isIP(text), 0);
      assert.equal(tryIpBytes(text)?.toString("hex"), want);
    });
  }
});

describe("tryIpBytes of other texts", () => {
  const others = ["", "kubernetes", "1.2.3", "1.2.3.256", "01.2.3.4", "1.2.3.4.5", "1.2.3.4:80"];
  const wrongV6 = [":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "g::"];
  for (const text of [...others, ...wrongV6, "1:2:3:4:5:6:7:8::", "::1.2.3", "::1.2.3.4:5", "1:"]) {
    test(`${JSON.stringify(text)} is no IP address`, () => {
      assert.equal(isIP(text), 0);
      assert.equal(tryIpBytes(text), undefined);
    });
  }
});
