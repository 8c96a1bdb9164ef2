import assert from "node:assert/strict";
import { test } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { startCluster } from "#testing/cluster.ts";
import { defineController, ownKey } from "./controller.ts";

test("controller runtime: what is remembered of an object is forgotten when it is gone", async () => {
  const seen: unknown[] = [];
  const counting = defineController<object | undefined, string>({
    name: "counting",
    feeds: [{ kind: configMapKind, keys: ownKey }],
    observe: (caches, { namespace, name }, _reader, remembered) => {
      seen.push(remembered);
      return caches(configMapKind).get(namespace, name);
    },
    decide: () => ({ remember: "it" }),
  });
  await using cluster = await startCluster({ controllers: [counting] });
  await cluster.seed(configMapKind, { metadata: { name: "a" } });
  await cluster.client.delete(configMapKind, { namespace: "default", name: "a" });
  await cluster.settle();
  await cluster.seed(configMapKind, { metadata: { name: "a" } });
  assert.deepEqual(seen, [undefined, "it", undefined]);
});

test("a controller that asks for it looks at everything again and again", async () => {
  const seen: string[] = [];
  const looking = defineController<string>({
    name: "looking",
    feeds: [{ kind: configMapKind, keys: ownKey }],
    resyncMs: 3_600_000,
    observe: (_caches, { name }) => name,
    decide: (name) => {
      seen.push(name);
      return {};
    },
  });
  await using cluster = await startCluster({ controllers: [looking] });
  await cluster.seed(configMapKind, { metadata: { name: "a" } });
  await cluster.seed(configMapKind, { metadata: { name: "b" } });
  await cluster.advance(2 * 3_600_000);
  assert.deepEqual(seen, ["a", "b", "a", "b", "a", "b"]);
});

test("controller runtime: what a decision asks to remember comes back until it is forgotten", async () => {
  const seen: unknown[] = [];
  const counting = defineController<number, number>({
    name: "counting",
    feeds: [{ kind: configMapKind, keys: ownKey }],
    observe: (_caches, _key, _reader, remembered) => {
      seen.push(remembered);
      return remembered ?? 0;
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
