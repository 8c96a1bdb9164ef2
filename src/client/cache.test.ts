import assert from "node:assert/strict";
import { test } from "vitest";
import type { KubeObject } from "#api/kind.ts";
import { Cache, type Change } from "./cache.ts";

function object(
  name: string,
  resourceVersion: string,
  more: Partial<KubeObject["metadata"]> = {},
): KubeObject {
  return { metadata: { name, namespace: "ns", uid: `uid-${name}`, resourceVersion, ...more } };
}

function names(objects: Iterable<KubeObject>): string[] {
  return [...objects].map(({ metadata }) => metadata.name ?? "");
}

test("informer cache: indexes follow every change", () => {
  const cache = new Cache<KubeObject>();
  cache.put(object("late", "1", { labels: { app: "x" } }));
  cache.addIndex("app", ({ metadata }) => [metadata.labels?.app ?? "none"]);
  const owner = { apiVersion: "v1", kind: "K", name: "o", uid: "owner", controller: true };
  cache.put(object("a", "2", { labels: { app: "x" }, ownerReferences: [owner] }));
  assert.deepEqual(names(cache.byIndex("app", "x")), ["late", "a"]);
  assert.deepEqual(names(cache.controlledBy("owner")), ["a"]);
  cache.put(object("a", "3", { labels: { app: "y" } }));
  assert.deepEqual(names(cache.byIndex("app", "x")), ["late"]);
  assert.deepEqual(names(cache.controlledBy("owner")), []);
  assert.deepEqual(names(cache.list("ns")), ["late", "a"]);
  assert.deepEqual(names(cache.list("other")), []);
  assert.equal(cache.byUid("uid-a")?.metadata.resourceVersion, "3");
  cache.remove(object("a", "4"));
  assert.deepEqual(
    [names(cache.byIndex("app", "y")), cache.byUid("uid-a"), cache.size],
    [[], undefined, 1],
  );
  assert.throws(() => cache.byIndex("nope", "x"), /no index "nope"/);
});

test("informer cache: an older state never replaces a newer one", () => {
  const cache = new Cache<KubeObject>();
  cache.put(object("a", "10"));
  cache.put(object("a", "9"));
  assert.equal(cache.get("ns", "a")?.metadata.resourceVersion, "10");
});

test("informer cache: listeners get each change after the cache shows it", () => {
  const cache = new Cache<KubeObject>();
  const changes: string[] = [];
  cache.on(({ next, old }: Change<KubeObject>) => {
    changes.push(
      `${old?.metadata.resourceVersion ?? "-"}>${next?.metadata.resourceVersion ?? "-"} ${cache.size}`,
    );
  });
  cache.put(object("a", "1"));
  cache.put(object("a", "2"));
  cache.remove(object("a", "3"));
  assert.deepEqual(changes, ["->1 1", "1>2 1", "3>- 0"]);
});

test("informer cache: retain removes what a listing no longer has", () => {
  const cache = new Cache<KubeObject>();
  for (const name of ["a", "b", "c"]) cache.put(object(name, "1"));
  cache.retain(new Set(["ns/b"]));
  assert.deepEqual(names(cache.list()), ["b"]);
});

const expectations: {
  name: string;
  now: KubeObject | undefined;
  deleted: boolean;
  want: boolean;
}[] = [
  { name: "a write that has arrived", now: object("a", "5"), deleted: false, want: true },
  { name: "a later write", now: object("a", "6"), deleted: false, want: true },
  { name: "a write on its way", now: object("a", "4"), deleted: false, want: false },
  { name: "a create on its way", now: undefined, deleted: false, want: false },
  {
    name: "a successor of the same name",
    now: object("a", "9", { uid: "new" }),
    deleted: false,
    want: true,
  },
  { name: "a delete that has arrived", now: undefined, deleted: true, want: true },
  { name: "a delete on its way", now: object("a", "5"), deleted: true, want: false },
  {
    name: "a delete that waits for finalizers",
    now: object("a", "6", { deletionTimestamp: "2030-01-01T00:00:00Z" }),
    deleted: true,
    want: true,
  },
];

for (const { name, now, deleted, want } of expectations) {
  test(`isSeen: ${name}`, () => {
    const cache = new Cache<KubeObject>();
    if (now !== undefined) cache.put(now);
    const resourceVersion = deleted ? undefined : "5";
    assert.equal(cache.isSeen({ namespace: "ns", name: "a", uid: "uid-a", resourceVersion }), want);
  });
}

test("waitFor resolves when the cache shows the write, or rejects when its signal aborts", async () => {
  const cache = new Cache<KubeObject>();
  const controller = new AbortController();
  const expected = { namespace: "ns", name: "a", uid: "uid-a", resourceVersion: "5" };
  const arrived = cache.waitFor(expected, controller.signal);
  const gaveUp = assert.rejects(
    cache.waitFor({ ...expected, resourceVersion: "9" }, controller.signal),
    /stop/,
  );
  cache.put(object("a", "5"));
  await arrived;
  controller.abort(new Error("stop"));
  await gaveUp;
});

test("isSeen: a write to an object that came and went before anyone waited for it", async () => {
  const cache = new Cache<KubeObject>();
  const expected = { namespace: "ns", name: "a", uid: "uid-a", resourceVersion: "5" };
  const updated = cache.waitFor(
    { ...expected, resourceVersion: "6" },
    new AbortController().signal,
  );
  cache.put(object("a", "5"));
  cache.remove(object("a", "7"));
  await updated;
  assert.equal(cache.isSeen(expected), true);
  assert.equal(cache.isSeen({ ...expected, uid: "uid-of-another" }), false);
});
