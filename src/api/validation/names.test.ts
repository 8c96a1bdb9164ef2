import assert from "node:assert/strict";
import { describe, test } from "vitest";
import {
  isCIdentifier,
  isConfigMapKey,
  isDns1035Label,
  isDns1123Label,
  isDns1123Subdomain,
  isDns1123SubdomainWithUnderscore,
  isEnvVarName,
  isHttpHeaderName,
  isLabelValue,
  isPercent,
  isPortName,
  isPortNumber,
  isQualifiedName,
  isRelaxedEnvVarName,
  isUnixId,
  isWildcardDns1123Subdomain,
  nameIsDns1035Label,
  nameIsDnsLabel,
  nameIsDnsSubdomain,
  pathSegmentName,
} from "./names.ts";

const LABEL_FAULT =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const NAME_PART_FAULT =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const KEY_FAULT =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

const good: readonly [rule: (value: string) => string[], values: readonly string[]][] = [
  [isDns1123Label, ["a", "1", "my-name", "a".repeat(63)]],
  [isDns1123Subdomain, ["a", "a.b", "1.2", "a".repeat(253)]],
  [isDns1123SubdomainWithUnderscore, ["_sip._tcp.a", "a_b"]],
  [isDns1035Label, ["a", "a-1"]],
  [isWildcardDns1123Subdomain, ["*.example.com"]],
  [isQualifiedName, ["a", "a/b", "example.com/A_b.C", `${"a".repeat(253)}/${"b".repeat(63)}`]],
  [isLabelValue, ["", "a", "A_b.c", "a".repeat(63)]],
  [isCIdentifier, ["a", "_A1"]],
  [isEnvVarName, ["A", "a.b-c", "_"]],
  [isRelaxedEnvVarName, ["1 a", "~!", " "]],
  [isConfigMapKey, ["a", ".a", "a..b", "A_b-c.d"]],
  [isHttpHeaderName, ["X-A"]],
  [isPercent, ["0%", "100%"]],
  [isPortName, ["http", "a-1", "1a"]],
];

const bad: readonly [rule: (value: string) => string[], value: string, faults: string[]][] = [
  [isDns1123Label, "a.b", ["must not contain dots"]],
  [isDns1123Label, "A", [LABEL_FAULT]],
  [isDns1123Label, "a".repeat(64), ["must be no more than 63 characters"]],
  [isDns1123Label, "a\n", [LABEL_FAULT]],
  [isDns1123Subdomain, "a".repeat(254), ["must be no more than 253 characters"]],
  [isQualifiedName, "/x", ["prefix part must be non-empty"]],
  [isQualifiedName, "bad key!", [NAME_PART_FAULT]],
  [isQualifiedName, "", ["name part must be non-empty", NAME_PART_FAULT]],
  [isQualifiedName, "a".repeat(64), ["name part must be no more than 63 bytes"]],
  [isConfigMapKey, "", [KEY_FAULT]],
  [isConfigMapKey, "..", ["must not be '..'"]],
  [isConfigMapKey, "..a", ["must not start with '..'"]],
  [isRelaxedEnvVarName, "", ["environment variable name must be non-empty"]],
  [
    isRelaxedEnvVarName,
    "a=b",
    [
      "a valid environment variable name must consist only of printable ASCII characters other than '='",
    ],
  ],
  [isPortName, "a--b", ["must not contain consecutive hyphens"]],
  [isPortName, "80", ["must contain at least one letter (a-z)"]],
  [isPortName, "a-", ["must not begin or end with a hyphen"]],
  [isPortName, "abcdefghijklmnop", ["must be no more than 15 characters"]],
];

describe("DNS names (isDnsLabel, isDnsSubdomain)", () => {
  for (const [rule, values] of good) {
    for (const value of values) {
      test(`${rule.name} takes "${value.slice(0, 20)}"`, () => assert.deepEqual(rule(value), []));
    }
  }
  for (const [rule, value, faults] of bad) {
    test(`${rule.name} refuses "${value.slice(0, 20)}"`, () => {
      assert.deepEqual(rule(value), faults);
    });
  }

  test("a key with two slashes is refused as a label key", () => {
    assert.match(isQualifiedName("a/b/c")[0]!, /^a valid label key must consist of .*MyName'\)$/);
  });

  test("isPortNumber and isUnixId check their ranges", () => {
    assert.deepEqual(isPortNumber(0), ["must be between 1 and 65535, inclusive"]);
    assert.deepEqual(isPortNumber(65535), []);
    assert.deepEqual(isUnixId(-1), ["must be between 0 and 2147483647, inclusive"]);
  });

  test("generateName may end in a dash, a name may not", () => {
    for (const rule of [nameIsDnsLabel, nameIsDnsSubdomain, nameIsDns1035Label]) {
      assert.deepEqual(rule("web-", true), []);
      assert.equal(rule("web-", false).length, 1);
    }
  });

  test("pathSegmentName refuses .. and names with / or %", () => {
    assert.deepEqual(pathSegmentName("..", false), ["may not be '..'"]);
    assert.deepEqual(pathSegmentName("..", true), []);
    assert.deepEqual(pathSegmentName("a/b%", false), [
      "may not contain '/'",
      "may not contain '%'",
    ]);
    assert.deepEqual(pathSegmentName("system:A", false), []);
  });
});
