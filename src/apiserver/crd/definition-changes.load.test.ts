/** A CustomResourceDefinition that changes while clients list, watch and write objects of it. */
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { test } from "vitest";
import { startTestApi, type TestApi } from "../api.testing.ts";
import { readFeed } from "../watch/read-feed.testing.ts";
import type { FeedEvent } from "../watch/watch-feed.ts";
import {
  DEFINITIONS,
  define,
  definition,
  until,
  versionOf,
  WIDGETS,
  widget,
} from "./definition.testing.ts";

const CHANGES = 30;
const CLIENTS = 4;

/** Knows one of two fields, which has a default; the other is pruned. */
const schemaOf = (field: "a" | "b") => ({
  type: "object",
  properties: { [field]: { type: "string", default: field } },
});
const definitionWith = (field: "a" | "b") =>
  definition({ versions: [versionOf("v1", { spec: schemaOf(field) })] });

test("a definition changes under load: every object has one schema, watches see every object once, deletion ends them", async () => {
  await using t = await startTestApi();
  await define(t, definitionWith("a"));
  const { metadata } = await t.want(200, "GET", WIDGETS);
  const watcher = follow(t, metadata.resourceVersion);
  const writers = startWriters(t);
  for (let change = 1; change <= CHANGES; change++) {
    const next = definitionWith(change % 2 === 0 ? "a" : "b");
    const name = `${DEFINITIONS}/${next.metadata.name}`;
    const { metadata } = await t.want(200, "GET", name);
    await t.want(200, "PUT", name, { body: { ...next, metadata } });
    await writers.progress();
  }
  const created = await writers.stop();
  assert.ok(created.length > CHANGES * CLIENTS, `${created.length} objects`);
  await watcher.seen(created.length);
  assert.deepEqual(watcher.names.toSorted(), created.toSorted());
  assert.ok(watcher.restarts > 0, "a change of the definition ends its watches");

  await t.want(200, "DELETE", `${DEFINITIONS}/widgets.example.com`);
  await watcher.end;
  await until(t, "widgets.example.com", (found) => found.code === 404);
  assert.equal((await t.ask("GET", WIDGETS)).code, 404);
}, 120_000);

interface Writers {
  /** Resolves when every client has done something since. */
  progress(): Promise<void>;
  /** The names of the objects that were created. */
  stop(): Promise<string[]>;
}

function startWriters(t: TestApi): Writers {
  const created: string[] = [];
  const steps = new Array<number>(CLIENTS).fill(0);
  let isOver = false;
  const client = async (number: number): Promise<void> => {
    for (let i = 0; !isOver; i++) {
      const name = `w-${number}-${i}`;
      // `x` is known to neither schema, and each schema adds what is missing.
      const body = widget(name, i % 2 === 0 ? { x: 1 } : { a: "1", b: "1", x: 1 });
      const { spec } = await t.want(201, "POST", WIDGETS, { body });
      created.push(name);
      assert.ok(isOfOneSchema(spec), JSON.stringify(spec));
      const { items } = await t.want(200, "GET", `${WIDGETS}?limit=5`);
      for (const item of items) assert.ok(isOfOneSchema(item.spec), JSON.stringify(item.spec));
      const fields = new Set(items.map((item: { spec: object }) => Object.keys(item.spec)[0]));
      assert.ok(fields.size <= 1, "a list is read with one schema");
      steps[number]! += 1;
      await turn();
    }
  };
  const clients = Promise.all(steps.map((_, number) => client(number)));
  return {
    progress: async () => {
      const from = [...steps];
      const isBehind = (): boolean => steps.some((step, number) => step < from[number]! + 2);
      while (isBehind()) await Promise.race([turn(), clients]);
    },
    stop: async () => {
      isOver = true;
      await clients;
      return created;
    },
  };
}

function isOfOneSchema(spec: Record<string, unknown>): boolean {
  const [field = "", ...others] = Object.keys(spec);
  return others.length === 0 && (field === "a" || field === "b");
}

interface Watcher {
  readonly names: string[];
  readonly restarts: number;
  seen(count: number): Promise<void>;
  /** Resolves when the resource is gone. */
  readonly end: Promise<void>;
}

/** Watches from there on, and from the last event again when a watch ends; lists where it must. */
function follow(t: TestApi, resourceVersion: string): Watcher {
  const names: string[] = [];
  let last: string | undefined = resourceVersion;
  let restarts = 0;
  const onEvent = (event: FeedEvent): void => {
    if (event.type === "ERROR") last = undefined; // 410: the list is to be read again
    if (event.type === "ERROR" || event.type === "BOOKMARK") return;
    const { metadata } = event.object.value;
    last = metadata.resourceVersion;
    if (event.type === "ADDED") names.push(metadata.name ?? "");
  };
  const list = async (): Promise<boolean> => {
    const { code, body } = await t.ask("GET", WIDGETS);
    if (code === 404) return false;
    for (const { metadata } of body.items) {
      if (!names.includes(metadata.name)) names.push(metadata.name);
    }
    last = body.metadata.resourceVersion;
    return true;
  };
  const run = async (): Promise<void> => {
    for (;;) {
      if (last === undefined && !(await list())) return;
      const { answer, code } = await t.ask("GET", `${WIDGETS}?watch=1&resourceVersion=${last}`);
      if (code === 404) return;
      assert.ok(answer.body.form === "watch", `watch was answered with ${code}`);
      await readFeed(answer.body.feed, onEvent);
      restarts += 1;
      await turn();
    }
  };
  const end = run();
  return {
    names,
    end,
    get restarts() {
      return restarts;
    },
    seen: async (count) => {
      while (names.length < count) await Promise.race([turn(), end]);
    },
  };
}
