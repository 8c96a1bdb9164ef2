import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { formatCheck, isUnrecognizedFormat } from "./formats.ts";

describe("CustomResourceDefinition schema: formats of texts", () => {
  const rows = [
    { format: "bsonobjectid", good: ["0123456789abcdefABCDEF01"], bad: ["0123", "x".repeat(24)] },
    { format: "uri", good: ["/a", "http://h/p?q", "urn:x"], bad: ["", "a", "http://h:x"] },
    { format: "email", good: ["a@b", "N <a@b.c>"], bad: ["a", "a@b@c", "a b@c"] },
    { format: "hostname", good: ["a", "a.example"], bad: ["", "-a", "a..b"] },
    { format: "ipv4", good: ["1.2.3.4"], bad: ["1.2.3", "::1"] },
    { format: "ipv6", good: ["::1"], bad: ["1.2.3.4", ":::"] },
    { format: "cidr", good: ["10.0.0.0/8", "::/0"], bad: ["10.0.0.0", "10.0.0.0/33"] },
    {
      format: "mac",
      good: ["01:23:45:67:89:ab", "01-23-45-67-89-ab", "0123.4567.89ab"],
      bad: ["01:23:45:67:89", "01:23-45:67:89:ab"],
    },
    { format: "uuid", good: ["0123456789abcdef0123456789abcdef"], bad: ["0123"] },
    {
      format: "uuid4",
      good: ["01234567-89ab-4def-8123-456789abcdef"],
      bad: ["01234567-89ab-3def-8123-456789abcdef", "01234567-89ab-4def-7123-456789abcdef"],
    },
    { format: "isbn", good: ["3-401-01319-X", "978-3-16-148410-0"], bad: ["3-401-01319-0"] },
    { format: "creditcard", good: ["4111 1111 1111 1111"], bad: ["4111111111111112", "1"] },
    { format: "ssn", good: ["123-45-6789"], bad: ["12-345-6789"] },
    { format: "hexcolor", good: ["#fff", "abcdef"], bad: ["#ff", "#ggg"] },
    { format: "rgbcolor", good: ["rgb(0, 255,1)"], bad: ["rgb(0,256,1)", "rgb(0,1)"] },
    { format: "byte", good: ["AAEC", "AA=="], bad: ["A", "A*=="] },
    { format: "date", good: ["2028-02-29"], bad: ["2030-02-29", "2030-1-1"] },
    { format: "duration", good: ["1h30m", "5 seconds", "2 d"], bad: ["", "1 fortnight"] },
    { format: "date-time", good: ["2030-01-01T00:00:00Z"], bad: ["2030-13-01T00:00:00Z", "now"] },
    { format: "k8s-short-name", good: ["a-b"], bad: ["a.b", "A"] },
    { format: "k8s-long-name", good: ["a.b"], bad: ["a..b"] },
  ];
  for (const { format, good, bad } of rows) {
    test(`format ${format} takes its good texts and refuses the bad ones`, () => {
      const check = formatCheck(format)!;
      assert.deepEqual([...good, ...bad].filter(check), good);
    });
  }
});

describe("CustomResourceDefinition schema: isUnrecognizedFormat", () => {
  const rows = [
    { type: "string", format: "date", unknown: false },
    { type: "string", format: "starsign", unknown: true },
    { type: "string", format: "int32", unknown: true },
    { type: "integer", format: "int64", unknown: false },
    { type: "integer", format: "double", unknown: true },
    { type: "number", format: "double", unknown: false },
    { type: "boolean", format: "date", unknown: true },
    { type: "boolean", format: "", unknown: false },
  ];
  for (const { type, format, unknown } of rows) {
    test(`type ${type} with format "${format}" is ${unknown ? "unrecognized" : "fine"}`, () =>
      assert.equal(isUnrecognizedFormat({ type, format }), unknown));
  }
});
