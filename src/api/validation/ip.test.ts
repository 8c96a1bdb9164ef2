import assert from "node:assert/strict";
import { describe, test } from "vitest";
import {
  cidrWarnings,
  formatIp,
  ipWarnings,
  isCanonicalCidr,
  isCanonicalIp,
  isCidr,
  isInterfaceAddress,
  isIp,
  isIpv6,
  isIpv6Cidr,
  parseIp,
} from "./ip.ts";

const NO_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const NO_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

const rows: readonly [rule: (value: string) => string[], value: string, faults: string[]][] = [
  [isIp, "10.0.0.1", []],
  [isIp, "FE80:0:0:0:0:0:0:1", []],
  [isIp, "10.0.0", [NO_IP]],
  [isIp, "10.0.0.256", [NO_IP]],
  [isIp, "1::2::3", [NO_IP]],
  [isIp, "1:2:3:4:5:6:7::8", [NO_IP]],
  [isIp, "fe80::1%eth0", [NO_IP]],
  [isIp, "010.0.0.1", ["must not have leading 0s"]],
  [isIp, "::00001", ["must not have leading 0s"]],
  [isIp, "::ffff:10.0.0.1", ["must not be an IPv4-mapped IPv6 address"]],
  [isCanonicalIp, "fe80::1", []],
  [isCanonicalIp, "fe80:0::1", ['must be in canonical form ("fe80::1")']],
  [isCidr, "10.0.0.0/8", []],
  [isCidr, "fd00::/48", []],
  [isCidr, "10.0.0.0/33", [NO_CIDR]],
  [isCidr, "10.0.0.0", [NO_CIDR]],
  [isCidr, "10.0.0.1/8", ["must not have bits set beyond the prefix length"]],
  [isCidr, "10.0.0.0/08", ["must not have leading 0s in IP or prefix length"]],
  [isCidr, "::ffff:10.0.0.0/104", ["must not have an IPv4-mapped IPv6 address"]],
  [isCanonicalCidr, "fd00:0::/48", ['must be in canonical form ("fd00::/48")']],
  [isInterfaceAddress, "192.0.2.5/24", []],
  [isInterfaceAddress, "::ffff:192.0.2.5/120", ['must be in canonical form ("192.0.2.5/24")']],
];

describe("ip", () => {
  for (const [rule, value, faults] of rows) {
    test(`${rule.name} ${value}`, () => assert.deepEqual(rule(value), faults));
  }

  const formats = [
    ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
    ["1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"],
    ["::", "::"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["1::", "1::"],
    ["::ffff:1.2.3.4", "1.2.3.4"],
    ["64:ff9b::1.2.3.4", "64:ff9b::102:304"],
  ] as const;
  for (const [text, canonical] of formats) {
    test(`${text} is written ${canonical}`, () => {
      assert.equal(formatIp(parseIp(text)!), canonical);
    });
  }

  test("isIpv6 and isIpv6Cidr know the family, IPv4 in IPv6 included", () => {
    assert.equal(isIpv6("::1"), true);
    assert.equal(isIpv6("::ffff:1.2.3.4"), false);
    assert.equal(isIpv6Cidr("fd00::/8"), true);
    assert.equal(isIpv6Cidr("10.0.0.0/8"), false);
  });

  test("warnings name the canonical form", () => {
    assert.deepEqual(ipWarnings("f", "010.0.0.1"), [
      'f: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"',
    ]);
    assert.deepEqual(ipWarnings("f", "FD00::1"), [
      'f: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")',
    ]);
    assert.deepEqual(cidrWarnings("f", "10.0.0.1/8"), [
      'f: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
    ]);
    assert.deepEqual(cidrWarnings("f", "10.0.0.0/8"), []);
  });
});
