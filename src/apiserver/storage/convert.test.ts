import assert from "node:assert/strict";
import { test } from "vitest";
import { defineKind, type Kind, type KubeObject } from "#api/kind.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { failure, internalErrorStatus, type Result, success } from "#api/meta/status.ts";
import { startTestApi } from "../api.testing.ts";
import type { EventFeed } from "../watch/watch-feed.ts";

const GROUP = "example.com";
const V1 = `/apis/${GROUP}/v1/namespaces/default/widgets`;
const V2 = `/apis/${GROUP}/v2/namespaces/default/widgets`;

test("conversion webhook: a create in v1 is stored in v2 and answered in v1", async () => {
  const { kinds, calls } = widgets();
  await using server = await startTestApi({ kinds });
  const made = await server.want(201, "POST", V1, { body: widget("a", { size: "1" }) });
  assert.deepEqual(made.data, { size: "1" });
  assert.equal(made.apiVersion, `${GROUP}/v1`);
  const stored = await server.want(200, "GET", `${V2}/a`);
  assert.deepEqual(stored.data, { v2size: "1" });
  assert.deepEqual(calls, ["toStored 1", "fromStored 1"]);
});

test("conversion webhook: a list converts all its items in one call, and a second list none", async () => {
  const { kinds, calls } = widgets();
  await using server = await startTestApi({ kinds });
  for (const name of ["a", "b", "c"]) {
    await server.want(201, "POST", V2, { body: widget(name, { v2size: name }, "v2") });
  }
  assert.deepEqual(calls, []);
  const list = await server.want(200, "GET", V1);
  const items = list.items.map(({ data }: KubeObject & { data: unknown }) => data);
  assert.deepEqual(items, [{ size: "a" }, { size: "b" }, { size: "c" }]);
  await server.want(200, "GET", V1);
  assert.deepEqual(calls, ["fromStored 3"]);
});

for (const [name, type, query] of [
  ["merge patch", "application/merge-patch+json", ""],
  ["apply", "application/apply-patch+yaml", "?fieldManager=m"],
] as const) {
  test(`conversion webhook: ${name} in v1 is made to the object in v1`, async () => {
    const { kinds } = widgets();
    await using server = await startTestApi({ kinds });
    await server.want(201, "POST", V2, { body: widget("a", { v2size: "1" }, "v2") });
    const body = widget("a", { color: "red" });
    const headers = { "content-type": type };
    const next = await server.want(200, "PATCH", `${V1}/a${query}`, { body, headers });
    assert.deepEqual(next.data, { size: "1", color: "red" });
    const stored = await server.want(200, "GET", `${V2}/a`);
    assert.deepEqual(stored.data, { v2size: "1", v2color: "red" });
  });
}

test("conversion webhook: a watch gets its events in the version of the request, in order", async () => {
  const { kinds, calls } = widgets();
  await using server = await startTestApi({ kinds });
  await server.want(201, "POST", V2, { body: widget("a", { v2size: "1" }, "v2") });
  using feed = await server.watch(`${V1}?watch=1`);
  assert.deepEqual(await eventsOf(feed), ['ADDED a {"size":"1"}']);
  const headers = { "content-type": "application/merge-patch+json" };
  const body = { data: { v2size: "2" } };
  await server.want(200, "PATCH", `${V2}/a`, { body, headers });
  await server.want(200, "DELETE", `${V2}/a`);
  assert.deepEqual(await eventsOf(feed), ['MODIFIED a {"size":"2"}', 'DELETED a {"size":"2"}']);
  assert.deepEqual(calls, ["fromStored 1", "fromStored 2"]);
});

test("conversion webhook: its refusal ends a watch with an ERROR event", async () => {
  const { kinds } = widgets(() => failure(internalErrorStatus("conversion webhook failed")));
  await using server = await startTestApi({ kinds });
  await server.want(201, "POST", V2, { body: widget("a", {}, "v2") });
  using feed = await server.watch(`${V1}?watch=1`);
  assert.deepEqual(await eventsOf(feed), ["ERROR 500"]);
  assert.equal(feed.pull(10), "over");
});

test("conversion webhook: its refusal is the answer of a GET and of a create, and nothing is stored", async () => {
  const { kinds } = widgets(() => failure(internalErrorStatus("conversion webhook failed")));
  await using server = await startTestApi({ kinds });
  await server.want(500, "POST", V1, { body: widget("a", {}) });
  await server.want(404, "GET", `${V2}/a`);
  await server.want(201, "POST", V2, { body: widget("b", {}, "v2") });
  await server.want(500, "GET", `${V1}/b`);
});

/** What the feed has now, once it is converted. */
async function eventsOf(feed: EventFeed): Promise<string[]> {
  const woken = new Promise<void>((resolve) => feed.onWake(resolve));
  assert.deepEqual(feed.pull(10), []);
  await woken;
  const events = feed.pull(10);
  assert.ok(events !== "over");
  return events.map((event) => {
    if (event.type === "ERROR") return `ERROR ${event.status.code}`;
    if (event.type === "BOOKMARK") return "BOOKMARK";
    const { metadata, data } = event.object.value as KubeObject & { data: unknown };
    return `${event.type} ${metadata.name} ${JSON.stringify(data)}`;
  });
}

function widget(name: string, data: Record<string, string>, version = "v1") {
  return { apiVersion: `${GROUP}/${version}`, kind: "Widget", metadata: { name }, data };
}

/** Widgets look like ConfigMaps; the stored version has other keys, which only a webhook knows. */
function widgets(refusal?: () => Result<never>): { kinds: Kind[]; calls: string[] } {
  const calls: string[] = [];
  const never = (): never => assert.fail("converted in this process");
  const remote =
    (direction: string, version: string, rename: (key: string) => string) =>
    async (objects: readonly KubeObject[]): Promise<Result<readonly KubeObject[]>> => {
      calls.push(`${direction} ${objects.length}`);
      await Promise.resolve();
      return refusal?.() ?? success(objects.map((object) => renamed(object, version, rename)));
    };
  const base = {
    group: GROUP,
    names: { kind: "Widget", plural: "widgets" },
    scope: "Namespaced",
    schema: configMapKind.schema,
    nameRule: () => [],
    unconditionalUpdate: true,
    columns: [],
  } as const;
  const v2 = defineKind<KubeObject>({ ...base, version: "v2" });
  const v1 = defineKind<KubeObject>({
    ...base,
    version: "v1",
    storedAs: {
      group: GROUP,
      version: "v2",
      toStored: never,
      fromStored: never,
      remote: {
        toStored: remote("toStored", "v2", (key) => `v2${key}`),
        fromStored: remote("fromStored", "v1", (key) => key.slice("v2".length)),
      },
    },
  });
  return { kinds: [v2, v1], calls };
}

function renamed(object: KubeObject, version: string, rename: (key: string) => string): KubeObject {
  const { data = {} } = object as { data?: Record<string, string> };
  const entries = Object.entries(data).map(([key, value]) => [rename(key), value]);
  const next = { ...object, apiVersion: `${GROUP}/${version}`, data: Object.fromEntries(entries) };
  return next as KubeObject;
}
