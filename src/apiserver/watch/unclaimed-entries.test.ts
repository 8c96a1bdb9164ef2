import assert from "node:assert/strict";
import { test } from "vitest";
import type { Entry } from "#store/contract.ts";
import { UnclaimedEntries } from "./unclaimed-entries.ts";

const WIDGETS = "/registry/example.com/widgets/";
const GADGETS = "/registry/example.com/gadgets/";

function entry(key: string): Entry {
  return { key, value: Buffer.from("{}"), createRevision: 1, modRevision: 1, version: 1 };
}

function keysOf(entries: readonly Entry[] | undefined): string[] | undefined {
  return entries?.map(({ key }) => key);
}

test("UnclaimedEntries: take returns all entries of one prefix, in their order, once", () => {
  const unclaimed = new UnclaimedEntries();
  for (const key of [`${GADGETS}a/x`, `${WIDGETS}a/x`, `${WIDGETS}b/y`]) unclaimed.add(entry(key));
  assert.deepEqual(keysOf(unclaimed.take(WIDGETS)), [`${WIDGETS}a/x`, `${WIDGETS}b/y`]);
  assert.equal(unclaimed.take(WIDGETS), undefined);
  assert.deepEqual(keysOf(unclaimed.take(GADGETS)), [`${GADGETS}a/x`]);
});

test("UnclaimedEntries: a prefix without entries is known to be empty", () => {
  assert.deepEqual(new UnclaimedEntries().take(WIDGETS), []);
});

test("UnclaimedEntries: noticeChange makes its prefix unknown, and no other one", () => {
  const unclaimed = new UnclaimedEntries();
  unclaimed.add(entry(`${WIDGETS}a/x`));
  unclaimed.noticeChange(`${WIDGETS}a/new`);
  unclaimed.noticeChange(`${GADGETS}a/new`);
  assert.equal(unclaimed.take(WIDGETS), undefined);
  assert.equal(unclaimed.take(GADGETS), undefined);
  assert.deepEqual(unclaimed.take("/registry/example.org/widgets/"), []);
});
