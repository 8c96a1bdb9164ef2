import assert from "node:assert/strict";
import { test } from "vitest";
import { snapshotName, tooMany } from "./snapshot-files.ts";

const at = (time: string, revision: number): string => snapshotName(Date.parse(time), revision);

test("snapshot names are in the order of time", () => {
  assert.equal(at("2030-01-02T03:04:05.678Z", 42), "20300102T030405Z-42.snapshot");
  assert.ok(at("2030-01-02T03:04:05Z", 9) < at("2030-01-02T03:04:06Z", 10));
});

const cases = [
  { name: "fewer than are kept", keep: 5, gone: [] },
  { name: "the oldest go", keep: 1, gone: ["20300101T000000Z-7.snapshot"] },
];

for (const { name, keep, gone } of cases) {
  test(`snapshot save --keep: ${name}, files of other names stay`, () => {
    const names = [
      at("2030-01-02T00:00:00Z", 3),
      "before-upgrade.snapshot",
      at("2030-01-01T00:00:00Z", 7),
      "notes.txt",
      "00000000T000000Z-1.snapshot.partial",
    ];
    assert.deepEqual(tooMany(names, keep), gone);
  });
}
