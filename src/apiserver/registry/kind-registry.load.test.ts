/** Kinds that come, change and go while clients list, watch and write. */
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { test } from "vitest";
import { CONFIG_MAPS, configMap, startTestApi, type TestApi } from "../api.testing.ts";
import { readFeed } from "../watch/read-feed.testing.ts";
import type { KindRegistry } from "./kind-registry.ts";
import { WIDGETS, widget, widgetKind } from "./widget-kind.testing.ts";

const ROUNDS = 40;
const CLIENTS = 4;
/** More than the number of recent own writes whose values the object store keeps parsed. */
const RECENT_WRITES = 130;

const WATCH_TIMEOUT_MAX_MS = 3_600_000;

test("kind registry: under load a kind is added, replaced and removed; no request fails with 500 and nothing leaks", async () => {
  await using t = await startTestApi();
  const { resources, store } = t.api;
  const before = { caches: [...store.cache.all()].length, served: [...resources.served()].length };
  const kinds: WeakRef<object>[] = [];
  const load = startLoad(t);
  for (let round = 0; round < ROUNDS; round++) {
    kinds.push(...(await comeAndGo(resources, load, round)));
  }
  const { codes, watches } = await load.stop();

  assert.deepEqual(
    [...codes.keys()].filter((code) => ![200, 201, 404, 409].includes(code)),
    [],
  );
  assert.ok(
    (codes.get(201) ?? 0) > ROUNDS && (codes.get(404) ?? 0) > 0,
    JSON.stringify([...codes]),
  );
  assert.ok(watches.ended > ROUNDS, `${watches.ended} watches ended`);
  assert.equal(watches.open, 0);
  for (let i = 0; i < RECENT_WRITES; i++) {
    await t.want(200, "PUT", `${CONFIG_MAPS}/other`, {
      body: configMap("other", { data: { i: `${i}` } }),
    });
  }
  await t.clock.advance(WATCH_TIMEOUT_MAX_MS); // the virtual clock keeps timers that were cancelled
  const after = { caches: [...store.cache.all()].length, served: [...resources.served()].length };
  assert.deepEqual(after, before);
  assert.equal(await left(kinds), 0, "kinds that were removed are still referred to");
}, 120_000);

async function comeAndGo(
  resources: KindRegistry,
  load: Load,
  round: number,
): Promise<readonly WeakRef<object>[]> {
  const first = widgetKind();
  await resources.add({ kinds: [first] });
  await load.progress();
  const second = widgetKind({ fields: [`f${round}`] });
  await resources.replace({ kinds: [second] });
  await load.progress();
  await resources.remove("example.com", "widgets");
  await load.progress();
  return [new WeakRef(first), new WeakRef(second)];
}

interface Load {
  /** Resolves when every client has done something since. */
  progress(): Promise<void>;
  stop(): Promise<{
    readonly codes: ReadonlyMap<number, number>;
    readonly watches: { readonly ended: number; readonly open: number };
  }>;
}

function startLoad(t: TestApi): Load {
  const codes = new Map<number, number>();
  const watches = { ended: 0, open: 0 };
  let isOver = false;
  const steps = new Array<number>(CLIENTS).fill(0);
  const ask = async (method: string, url: string, body?: unknown): Promise<void> => {
    const { code } = await t.ask(method, url, body === undefined ? {} : { body });
    codes.set(code, (codes.get(code) ?? 0) + 1);
  };
  const watch = async (): Promise<void> => {
    const { answer, code } = await t.ask("GET", `${WIDGETS}?watch=1`);
    codes.set(code, (codes.get(code) ?? 0) + 1);
    if (answer.body.form !== "watch") return;
    watches.open += 1;
    await readFeed(answer.body.feed);
    watches.open -= 1;
    watches.ended += 1;
  };
  const client = async (number: number): Promise<void> => {
    const watching = new Set<Promise<void>>();
    for (let i = 0; !isOver; i++) {
      const watched = watch();
      watching.add(watched);
      void watched.finally(() => watching.delete(watched));
      await ask("POST", WIDGETS, widget(`w-${number}-${i}`, { color: "red" }));
      await ask("GET", WIDGETS);
      await ask("DELETE", `${WIDGETS}/w-${number}-${i}`);
      await t.want(200, "GET", CONFIG_MAPS);
      steps[number]! += 1;
      await turn();
    }
    await Promise.all(watching);
  };
  const clients = t
    .want(201, "POST", CONFIG_MAPS, { body: configMap("other") })
    .then(() => Promise.all(steps.map((_, number) => client(number))));
  return {
    progress: async () => {
      const from = [...steps];
      while (steps.some((step, number) => step < from[number]! + 2)) await turn();
    },
    stop: async () => {
      isOver = true;
      await clients;
      return { codes, watches };
    },
  };
}

async function left(references: readonly WeakRef<object>[]): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let tries = 0; tries < 10; tries++) {
    await turn();
    collect();
    if (references.every((reference) => reference.deref() === undefined)) return 0;
  }
  return references.filter((reference) => reference.deref() !== undefined).length;
}
