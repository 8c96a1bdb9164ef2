import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { nextTurn } from "#lib/async/next-turn.ts";
import { CONFIG_MAPS, configMap, startTestApi } from "../api.testing.ts";
import type { EventFeed } from "../watch/watch-feed.ts";

/** What a watcher would see: `ADDED a@5`. */
function seen(feed: EventFeed): string[] {
  const all: string[] = [];
  for (;;) {
    const events = feed.pull(3);
    if (events === "over") return [...all, "over"];
    if (events.length === 0) return all;
    for (const event of events) {
      if (event.type === "ERROR") all.push(`ERROR ${event.status.code}`);
      else if (event.type === "BOOKMARK") {
        all.push(`BOOKMARK@${event.revision}${event.initialEventsEnd ? " end" : ""}`);
      } else all.push(`${event.type} ${event.object.value.metadata.name}@${event.object.number}`);
    }
  }
}

describe("a watch", () => {
  test("sends every change after its resourceVersion once, in order", async () => {
    await using t = await startTestApi();
    const { metadata } = await t.want(200, "GET", CONFIG_MAPS);
    const at = Number(metadata.resourceVersion);
    using early = await t.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=${at}`);
    for (const name of ["a", "b"])
      await t.want(201, "POST", CONFIG_MAPS, { body: configMap(name) });
    await t.want(200, "PUT", `${CONFIG_MAPS}/a`, { body: configMap("a", { data: { k: "2" } }) });
    await t.want(200, "DELETE", `${CONFIG_MAPS}/b`);
    const want = [
      `ADDED a@${at + 1}`,
      `ADDED b@${at + 2}`,
      `MODIFIED a@${at + 3}`,
      `DELETED b@${at + 4}`,
    ];
    assert.deepEqual(seen(early), want);
    using late = await t.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=${at + 2}`);
    assert.deepEqual(seen(late), want.slice(2));
  });

  test("that wants no initial events begins now; one that has ended already sends nothing", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    const none = "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    for (const version of ["", "&resourceVersion=0"]) {
      using feed = await t.watch(`${CONFIG_MAPS}?${none}${version}`);
      assert.deepEqual(seen(feed), []);
    }
    using over = await t.watch(`${CONFIG_MAPS}?watch=1&timeoutSeconds=-1`);
    assert.deepEqual(seen(over), ["over"]);
  });

  test("begins with the state when it names no revision, and marks its end", async () => {
    await using t = await startTestApi();
    for (const name of ["b", "a"])
      await t.want(201, "POST", CONFIG_MAPS, { body: configMap(name) });
    const now = t.api.store.cache.revision;
    using plain = await t.watch(`${CONFIG_MAPS}?watch=1`);
    assert.deepEqual(seen(plain), [`ADDED a@${now}`, `ADDED b@${now - 1}`]);
    using marked = await t.watch(
      `${CONFIG_MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("c") });
    assert.deepEqual(seen(marked), [
      `ADDED a@${now}`,
      `ADDED b@${now - 1}`,
      `BOOKMARK@${now} end`,
      `ADDED c@${now + 1}`,
    ]);
  });

  test("an object that leaves the selection is deleted for it, one that enters is added", async () => {
    await using t = await startTestApi();
    const labelled = (labels: object) => configMap("a", { metadata: { labels } });
    await t.want(201, "POST", CONFIG_MAPS, { body: labelled({ x: "1" }) });
    const at = t.api.store.cache.revision;
    using feed = await t.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=${at}&labelSelector=x%3D1`);
    await t.want(200, "PUT", `${CONFIG_MAPS}/a`, { body: labelled({ x: "2" }) });
    await t.want(200, "PUT", `${CONFIG_MAPS}/a`, { body: labelled({ x: "3" }) });
    await t.want(200, "PUT", `${CONFIG_MAPS}/a`, { body: labelled({ x: "1" }) });
    await t.want(200, "DELETE", `${CONFIG_MAPS}/a`);
    assert.deepEqual(seen(feed), [
      `DELETED a@${at + 1}`,
      `ADDED a@${at + 3}`,
      `DELETED a@${at + 4}`,
    ]);
  });

  test("an initial state of which little matches the labelSelector is scanned over several turns", async () => {
    await using t = await startTestApi();
    for (let n = 0; n < 600; n++) {
      const metadata = n === 599 ? { labels: { x: "1" } } : {};
      const body = configMap(`c${String(n).padStart(3, "0")}`, { metadata });
      await t.want(201, "POST", CONFIG_MAPS, { body });
    }
    const query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    using feed = await t.watch(
      `${CONFIG_MAPS}?${query}&allowWatchBookmarks=true&labelSelector=x%3D1`,
    );
    let wakes = 0;
    feed.onWake(() => {
      wakes += 1;
    });
    assert.deepEqual(feed.pull(10), []);
    await nextTurn();
    assert.equal(wakes, 1);
    assert.deepEqual(feed.pull(10), []);
    await nextTurn();
    assert.equal(wakes, 2);
    const events = feed.pull(10);
    assert.ok(events !== "over");
    assert.deepEqual(
      events.map(({ type }) => type),
      ["ADDED", "BOOKMARK"],
    );
  });

  test("a watch of one name or namespace is not woken by others", async () => {
    await using t = await startTestApi();
    const now = t.api.store.cache.revision;
    using named = await t.watch(
      `/api/v1/configmaps?watch=1&resourceVersion=${now}&fieldSelector=metadata.name%3Dmine`,
    );
    using placed = await t.watch(
      `/api/v1/namespaces/other/configmaps?watch=1&resourceVersion=${now}`,
    );
    let wakes = 0;
    for (const feed of [named, placed]) {
      assert.deepEqual(seen(feed), []);
      feed.onWake(() => {
        wakes += 1;
      });
    }
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("theirs") });
    assert.equal(wakes, 0);
    await t.want(201, "POST", "/api/v1/namespaces/other/configmaps", { body: configMap("mine") });
    assert.equal(wakes, 2);
    assert.deepEqual(seen(named), [`ADDED mine@${now + 2}`]);
    assert.deepEqual(seen(placed), [`ADDED mine@${now + 2}`]);
  });

  test("bookmarks carry the current resourceVersion, and one is sent before the timeout", async () => {
    await using t = await startTestApi();
    const now = t.api.store.cache.revision;
    using feed = await t.watch(
      `${CONFIG_MAPS}?watch=1&resourceVersion=${now}&allowWatchBookmarks=true&timeoutSeconds=100`,
    );
    assert.deepEqual(seen(feed), []);
    await t.want(201, "POST", "/api/v1/namespaces/x/secrets", {
      body: { metadata: { name: "s" } },
    });
    await t.clock.advance(60_000);
    assert.deepEqual(seen(feed), [`BOOKMARK@${now + 1}`]);
    await t.clock.advance(38_000);
    assert.deepEqual(seen(feed), [`BOOKMARK@${now + 1}`]);
    await t.clock.advance(2_000);
    assert.deepEqual(seen(feed), ["over"]);
  });

  test("a reader that is overtaken gets 410 and the end, whatever came meanwhile", async () => {
    await using t = await startTestApi();
    const now = t.api.store.cache.revision;
    using slow = await t.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=${now}`);
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    const body = configMap("a", { data: { k: "x".repeat(700_000) } });
    for (let n = 0; n < 110; n++) {
      await t.want(200, "PUT", `${CONFIG_MAPS}/a`, {
        body: { ...body, data: { ...body.data, n: `${n}` } },
      });
    }
    assert.deepEqual(seen(slow), ["ERROR 410", "over"]);
    using late = await t.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=${now}`);
    assert.deepEqual(seen(late), ["ERROR 410", "over"]);
  });

  test("a revision that is not there yet is waited for", async () => {
    await using t = await startTestApi();
    const now = t.api.store.cache.revision;
    using feed = await t.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=${now + 1}`);
    for (const name of ["a", "b"])
      await t.want(201, "POST", CONFIG_MAPS, { body: configMap(name) });
    assert.deepEqual(seen(feed), [`ADDED b@${now + 2}`]);
  });

  test("objects are sent in the requested API version", async () => {
    await using t = await startTestApi();
    using feed = await t.watch("/apis/events.k8s.io/v1/namespaces/default/events?watch=1");
    await t.want(201, "POST", "/api/v1/namespaces/default/events", {
      body: {
        metadata: { name: "e" },
        involvedObject: { kind: "Pod", namespace: "default", name: "p" },
        message: "m",
      },
    });
    const events = feed.pull(10);
    assert.ok(events !== "over" && events[0]?.type === "ADDED");
    const { apiVersion, note } = events[0].object.value as { apiVersion?: string; note?: string };
    assert.deepEqual([apiVersion, note], ["events.k8s.io/v1", "m"]);
  });
});
