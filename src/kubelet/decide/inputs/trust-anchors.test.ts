import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "vitest";
import { normalizeTrustAnchors } from "./trust-anchors.ts";

const one = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const salted = (salt: string) => (bytes: Uint8Array) =>
  createHash("sha256").update(salt).update(bytes).digest("hex");
const two = one.replace("AAAA", "BBBB");

test("trust anchors: each certificate once, no headers, no text between blocks", () => {
  const messy = `a\n${one.replace("AAAA", "Key: value\n\nAAAA")}b\n${two}${one}`;
  const text = normalizeTrustAnchors([messy, two], salted("salt"));
  assert.deepEqual(text.match(/[AB]{4}/g)?.sort(), ["AAAA", "BBBB"]);
  assert.equal(text.length, one.length + two.length);
});

test("trust anchors: the order is the same for one salt, whatever the order of bundles", () => {
  const certificates = Array.from({ length: 8 }, (_, i) => one.replace("AAAA", `AAA${i}`));
  const text = normalizeTrustAnchors(certificates, salted("a"));
  assert.equal(normalizeTrustAnchors([...certificates].reverse(), salted("a")), text);
  assert.notEqual(normalizeTrustAnchors(certificates, salted("b")), text);
});

test("trust anchors: no bundle gives no text", () => {
  assert.equal(normalizeTrustAnchors([], salted("salt")), "");
});
