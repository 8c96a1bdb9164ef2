import assert from "node:assert/strict";
import { test } from "vitest";
import { configMapKind } from "#api/core/v1/config-map.ts";
import { startCluster } from "#testing/cluster.ts";
import { defineController, ownKey } from "./controller.ts";

test("what a decision asks to remember comes back until it is forgotten", async () => {
  const seen: unknown[] = [];
  const counting = defineController<number>({
    name: "counting",
    feeds: [{ kind: configMapKind, keys: ownKey }],
    observe: (_caches, _key, _reader, remembered) => {
      seen.push(remembered);
      return (remembered as number | undefined) ?? 0;
    },
    decide: (count) => ({ remember: count === 2 ? undefined : count + 1 }),
  });
  await using cluster = await startCluster({ controllers: [counting] });
  await cluster.seed(configMapKind, { metadata: { name: "a" } });
  for (const text of ["b", "c", "d"]) {
    await cluster.edit(configMapKind, "a", (map) => void (map.data = { text }));
  }
  assert.deepEqual(seen, [undefined, 1, 2, undefined]);
});
