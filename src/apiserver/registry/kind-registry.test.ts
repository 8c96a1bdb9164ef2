import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { CONFIG_MAPS, configMap, startTestApi } from "../api.testing.ts";
import type { EventFeed } from "../watch/watch-feed.ts";
import { WIDGETS, widget, widgetKind } from "./widget-kind.testing.ts";

const APPLY = { headers: { "content-type": "application/apply-patch+yaml" } };
const TABLE = { headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" } };
const PROTOBUF = "application/vnd.kubernetes.protobuf";
const AGGREGATED = {
  headers: { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" },
};

describe("kind registry: a kind that is added while the server runs", () => {
  test("is not there before: 404, and no group in discovery", async () => {
    await using t = await startTestApi();
    assert.equal((await t.ask("GET", WIDGETS)).code, 404);
    assert.equal((await t.ask("GET", "/apis/example.com")).code, 404);
  });

  test("can be created, listed, selected by field, applied and its status written", async () => {
    await using t = await startTestApi();
    await t.api.resources.add({ kinds: [widgetKind()] });
    await t.want(201, "POST", WIDGETS, { body: widget("a", { color: "red", size: "dropped" }) });
    await t.want(201, "POST", WIDGETS, { body: widget("b", { color: "blue" }) });
    const one = await t.want(200, "GET", `${WIDGETS}/a`);
    assert.deepEqual(one.spec, { color: "red" });
    const list = await t.want(200, "GET", `${WIDGETS}?fieldSelector=spec.color=blue`);
    assert.deepEqual(namesIn(list), ["b"]);
    assert.equal(list.kind, "WidgetList");

    const url = `${WIDGETS}/a?fieldManager=me&force=true`;
    const body = widget("a", { color: "green" });
    const applied = await t.want(200, "PATCH", url, { ...APPLY, body });
    assert.equal(applied.spec.color, "green");
    const owner = applied.metadata.managedFields.find(
      (m: { manager: string }) => m.manager === "me",
    );
    assert.deepEqual(owner.fieldsV1, { "f:spec": { "f:color": {} } });

    const status = { ...widget("a", { color: "ignored" }), status: { phase: "Done" } };
    const written = await t.want(200, "PUT", `${WIDGETS}/a/status`, { body: status });
    assert.deepEqual([written.spec, written.status], [{ color: "green" }, { phase: "Done" }]);
  });

  test("is in discovery, in OpenAPI v2 and v3, and has its own Table columns", async () => {
    await using t = await startTestApi();
    const { etag: before } = (await t.ask("GET", "/apis", AGGREGATED)).answer.headers;
    await t.api.resources.add({ kinds: [widgetKind()] });
    const group = await t.want(200, "GET", "/apis/example.com");
    assert.equal(group.preferredVersion.groupVersion, "example.com/v1");
    const { resources } = await t.want(200, "GET", "/apis/example.com/v1");
    assert.deepEqual(
      resources.map(({ name }: { name: string }) => name),
      ["widgets", "widgets/status"],
    );
    const aggregated = await t.ask("GET", "/apis", AGGREGATED);
    assert.notEqual(aggregated.answer.headers.etag, before);
    const found = aggregated.body.items.find(
      ({ metadata }: { metadata: { name?: string } }) => metadata.name === "example.com",
    );
    assert.deepEqual(found.versions[0].resources[0].responseKind, {
      group: "example.com",
      version: "v1",
      kind: "Widget",
    });

    const v2 = await t.want(200, "GET", "/openapi/v2");
    assert.ok("/apis/example.com/v1/namespaces/{namespace}/widgets" in v2.paths);
    assert.deepEqual(v2.definitions["com.example.v1.Widget"]["x-kubernetes-group-version-kind"], [
      { group: "example.com", kind: "Widget", version: "v1" },
    ]);
    const v3 = await t.want(200, "GET", "/openapi/v3/apis/example.com/v1");
    const { items } = v3.components.schemas["com.example.v1.WidgetList"].properties;
    assert.deepEqual(items.items, { $ref: "#/components/schemas/com.example.v1.Widget" });

    await t.want(201, "POST", WIDGETS, { body: widget("a", { color: "red" }) });
    const table = await t.want(200, "GET", WIDGETS, TABLE);
    assert.deepEqual(
      table.columnDefinitions.map(({ name }: { name: string }) => name),
      ["Name", "Color"],
    );
    assert.deepEqual(table.rows[0].cells, ["a", "red"]);
  });

  const refused: readonly (readonly [string, string, string, Record<string, string>, number])[] = [
    [
      "a strategic merge patch",
      "PATCH",
      `${WIDGETS}/a`,
      { "content-type": "application/strategic-merge-patch+json" },
      415,
    ],
    ["a protobuf body", "POST", WIDGETS, { "content-type": PROTOBUF }, 415],
    ["a protobuf answer", "GET", `${WIDGETS}/a`, { accept: PROTOBUF }, 406],
  ];
  for (const [what, method, url, headers, code] of refused) {
    test(`refuses ${what} with ${code}`, async () => {
      await using t = await startTestApi();
      await t.api.resources.add({ kinds: [widgetKind()] });
      await t.want(201, "POST", WIDGETS, { body: widget("a") });
      const body = method === "GET" ? {} : { body: {} };
      assert.equal((await t.ask(method, url, { headers, ...body })).code, code);
    });
  }

  test("shows the objects that were in the store already", async () => {
    await using t = await startTestApi();
    await t.api.resources.add({ kinds: [widgetKind()] });
    await t.want(201, "POST", WIDGETS, { body: widget("a") });
    await t.api.resources.remove("example.com", "widgets");
    await t.api.resources.add({ kinds: [widgetKind()] });
    assert.deepEqual(namesIn(await t.want(200, "GET", WIDGETS)), ["a"]);
  });

  test("is refused if there is a resource of that name, and other changes go on", async () => {
    await using t = await startTestApi();
    const { resources } = t.api;
    const changes = [
      resources.add({ kinds: [widgetKind()] }),
      resources.add({ kinds: [widgetKind()] }),
      resources.replace({ kinds: [widgetKind({ fields: ["size"] })] }),
    ];
    const outcomes = await Promise.allSettled(changes);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    const made = await t.want(201, "POST", WIDGETS, { body: widget("a", { size: "xl" }) });
    assert.deepEqual(made.spec, { size: "xl" });
  });
});

describe("kind registry: a kind that is replaced", () => {
  test("ends its watches; a new watch goes on where the old one ended", async () => {
    await using t = await startTestApi();
    await t.api.resources.add({ kinds: [widgetKind()] });
    const { metadata } = await t.want(201, "POST", WIDGETS, { body: widget("a") });
    const feed = await t.watch(`${WIDGETS}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    await t.want(201, "POST", WIDGETS, { body: widget("b") });
    await t.api.resources.replace({ kinds: [widgetKind({ fields: ["size"] })] });
    assert.deepEqual(drain(feed), ["ADDED b", "over"]);
    await t.want(201, "POST", WIDGETS, { body: widget("c", { size: "xl" }) });
    const next = await t.watch(`${WIDGETS}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    assert.deepEqual(drain(next), ["ADDED b", "ADDED c"]);
  });

  test("converts stored objects when another version becomes the stored one", async () => {
    await using t = await startTestApi();
    await t.api.resources.add({ kinds: [widgetKind()] });
    await t.want(201, "POST", WIDGETS, { body: widget("a", { color: "red" }) });
    const rename = (apiVersion: string) => (object: object) => ({ ...object, apiVersion });
    const v1 = widgetKind({
      storedAs: {
        group: "example.com",
        version: "v2",
        toStored: (object) => rename("example.com/v2")(object) as typeof object,
        fromStored: rename("example.com/v1"),
      },
    });
    await t.api.resources.replace({ kinds: [v1, widgetKind({ version: "v2" })] });
    const inV2 = await t.want(200, "GET", "/apis/example.com/v2/namespaces/default/widgets/a");
    assert.deepEqual([inV2.apiVersion, inV2.spec], ["example.com/v2", { color: "red" }]);
    assert.equal((await t.want(200, "GET", `${WIDGETS}/a`)).apiVersion, "example.com/v1");
    const { versions } = await t.want(200, "GET", "/apis/example.com");
    assert.deepEqual(
      versions.map(({ version }: { version: string }) => version),
      ["v2", "v1"],
    );
  });
});

describe("kind registry: a kind that is removed", () => {
  test("ends its watches after what is pending and is forgotten by discovery and OpenAPI", async () => {
    await using t = await startTestApi();
    const cachesBefore = [...t.api.store.cache.all()].length;
    await t.api.resources.add({ kinds: [widgetKind()] });
    const feed = await t.watch(`${WIDGETS}?watch=1`);
    const others = await t.watch(`${CONFIG_MAPS}?watch=1`);
    await t.want(201, "POST", WIDGETS, { body: widget("a") });
    await t.api.resources.remove("example.com", "widgets");
    assert.deepEqual(drain(feed), ["ADDED a", "over"]);
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("x") });
    assert.deepEqual(drain(others), ["ADDED x"]);
    assert.equal((await t.ask("GET", WIDGETS)).code, 404);
    assert.equal((await t.ask("GET", "/apis/example.com/v1")).code, 404);
    assert.equal((await t.ask("GET", "/openapi/v3/apis/example.com/v1")).code, 404);
    assert.equal([...t.api.store.cache.all()].length, cachesBefore);
  });

  test("takes no more writes from requests that are under way", async () => {
    await using t = await startTestApi();
    await t.api.resources.add({ kinds: [widgetKind()] });
    const { stored } = t.api.resources.resource("example.com", "widgets")!;
    await t.api.resources.remove("example.com", "widgets");
    const object = { ...widget("late"), metadata: { name: "late", namespace: "default" } };
    const wrote = await t.api.store.create(stored, `${stored.prefix}default/late`, object);
    assert.equal(wrote.ok ? 0 : wrote.status.code, 404);
  });
});

function namesIn(list: { items: { metadata: { name: string } }[] }): string[] {
  return list.items.map(({ metadata }) => metadata.name);
}

/** What a watch has to say for now. */
function drain(feed: EventFeed): string[] {
  const said: string[] = [];
  for (;;) {
    const events = feed.pull(100);
    if (events === "over") return [...said, "over"];
    if (events.length === 0) return said;
    for (const event of events) {
      const name = "object" in event ? event.object.value.metadata.name : "";
      said.push(`${event.type} ${name}`);
    }
  }
}
