import assert from "node:assert/strict";
import { test } from "vitest";
import { CONFIG_MAPS, configMap, startTestApi } from "../api.testing.ts";
import { joined, type Part, whole } from "./byte-parts.ts";
import { JoinedItems } from "./list-bytes-cache.ts";
import { jsonText, protobufText } from "./list-text.ts";

const parts = (...texts: string[]): Part[] => texts.map((text) => whole(Buffer.from(text)));
const SHORT = parts("a", "bc");
const LONG = parts("a", "x".repeat(9 * 1024 * 1024));

const rows = [
  { name: "not joined for the first two requests", items: SHORT, states: ["1", "1"], joins: false },
  { name: "joined for the third request", items: SHORT, states: ["1", "1", "1"], joins: true },
  { name: "not joined after a change", items: SHORT, states: ["1", "1", "1", "2"], joins: false },
  { name: "not joined when their state is unknown", items: SHORT, states: [undefined] },
  { name: "not joined when they are long", items: LONG, states: ["1", "1", "1"], joins: false },
];

for (const { name, items, states, joins = false } of rows) {
  test(`JoinedItems: items of a list are ${name}`, () => {
    const known = new JoinedItems();
    let last: readonly Part[] = [];
    for (const state of states) last = known.of("pods", state, () => items);
    assert.equal(last.length, joins ? 1 : items.length);
    assert.deepEqual(joined(last), joined(items));
  });
}

test("list bytes: joined items are made once, and kept apart from those of another list", () => {
  const known = new JoinedItems();
  for (const what of ["pods", "nodes"]) {
    for (let n = 0; n < 3; n++) known.of(what, "1", () => parts(what, "!"));
  }
  const none = (): Part[] => assert.fail("gathered again");
  assert.equal(joined(known.of("pods", "1", none)).toString(), "pods!");
  assert.equal(joined(known.of("nodes", "1", none)).toString(), "nodes!");
});

test("lists that are asked for again say the revision of now, and what has changed", async () => {
  await using t = await startTestApi();
  for (const name of ["a", "b"]) await t.want(201, "POST", CONFIG_MAPS, { body: configMap(name) });
  const known = new JoinedItems();
  const ask = async (): Promise<string[]> => {
    const { answer } = await t.ask("GET", CONFIG_MAPS);
    assert.ok(answer.body.form === "list");
    const { list } = answer.body;
    const text = jsonText(list, known).whole();
    assert.deepEqual(text, jsonText(list).whole());
    assert.deepEqual(protobufText(list, known).whole(), protobufText(list).whole());
    const { metadata, items } = JSON.parse(text.toString());
    assert.equal(metadata.resourceVersion, String(t.api.store.cache.revision));
    return items.map((item: { metadata: { name: string } }) => item.metadata.name);
  };
  for (let n = 0; n < 4; n++) assert.deepEqual(await ask(), ["a", "b"]);
  await t.want(201, "POST", "/api/v1/namespaces/default/secrets", {
    body: { kind: "Secret", apiVersion: "v1", metadata: { name: "s" } },
  });
  assert.deepEqual(await ask(), ["a", "b"]);
  await t.want(200, "DELETE", `${CONFIG_MAPS}/a`);
  for (let n = 0; n < 4; n++) assert.deepEqual(await ask(), ["b"]);
});
