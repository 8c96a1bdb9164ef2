/** The executor's promises, against the real API server: each describe block is one of them. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { KubeObject } from "#api/kind.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { failure, forbiddenStatus } from "#api/meta/status.ts";
import { Cache } from "#client/cache.ts";
import { Client } from "#client/client.ts";
import type { Call, Transport } from "#client/transport.ts";
import { deferred } from "#lib/async/deferred.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { seededRandom } from "#lib/random.ts";
import { build } from "#testing/build.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import type { EventNote, Outcome } from "./controller.ts";
import { type Execution, execute, type FindCache } from "./executor.ts";
import {
  create,
  deleteAll,
  deleteUnchanged,
  noted,
  patch,
  remove,
  update,
  type Write,
} from "./writes.ts";

type Writes = NonNullable<Outcome["writes"]>;

describe("execute: order of writes", () => {
  const rows: {
    name: string;
    writes: Writes;
    rounds: string[][];
    done: number;
    refused?: string;
  }[] = [
    { name: "no writes, no requests", writes: [], rounds: [], done: 0 },
    {
      name: "a write is sent after the answer to the one before it",
      writes: [added("a"), added("b"), added("c")],
      rounds: [["a"], ["b"], ["c"]],
      done: 3,
    },
    {
      name: "a batch of 10 goes out in rounds of 1, 2, 4 and the rest",
      writes: [batch(10)],
      rounds: [["n0"], ["n1", "n2"], names(3, 7), names(7, 10)],
      done: 10,
    },
    {
      name: "each batch starts again with 1",
      writes: [batch(3), added("between"), batch(2, "m")],
      rounds: [["n0"], ["n1", "n2"], ["between"], ["m0"], ["m1"]],
      done: 6,
    },
    {
      name: "the first refusal ends the writes after it",
      writes: [added("a"), added("refused"), added("c"), batch(4)],
      rounds: [["a"], ["refused"]],
      done: 1,
      refused: "refused",
    },
    {
      name: "a refused first write of a batch costs one request",
      writes: [[added("refused"), ...batch(100)], added("after")],
      rounds: [["refused"]],
      done: 0,
      refused: "refused",
    },
    {
      name: "a refusal lets its round finish and ends the batch after it",
      writes: [[added("a"), added("b"), added("c"), added("refused"), ...batch(10)]],
      rounds: [["a"], ["b", "c"], ["refused", "n0", "n1", "n2"]],
      done: 6,
      refused: "refused",
    },
    {
      name: "of several refusals in a round the first of the batch is returned",
      writes: [[added("a"), added("refused-1"), added("refused-2")]],
      rounds: [["a"], ["refused-1", "refused-2"]],
      done: 1,
      refused: "refused-1",
    },
  ];
  for (const { name, writes, rounds, done, refused } of rows) {
    test(name, async () => {
      await using cluster = await startCluster();
      const sent = new Rounds(cluster.transport);
      const execution = await executed(cluster, writes, { transport: sent });
      assert.deepEqual(sent.rounds, rounds);
      assert.equal(execution.done, done);
      assert.equal(nameOf(execution.refused?.write), refused);
      const wanted = rounds.flat().filter((one) => !one.startsWith("refused"));
      assert.deepEqual([...cluster.names(configMapKind)].sort(), wanted.sort());
    });
  }

  test("a batch goes on while one of its answers is late, with at most one request more in flight than succeeded", async () => {
    await using cluster = await startCluster();
    const late = deferred<void>();
    let [inFlight, answered, most] = [0, 0, 0];
    const slow: Transport = {
      send: async (call, signal) => {
        inFlight += 1;
        assert.ok(inFlight <= 1 + answered, `${inFlight} in flight after ${answered} answers`);
        most = Math.max(most, inFlight);
        if (nameIn(call) === "n1") await late.promise;
        const answer = await cluster.transport.send(call, signal);
        inFlight -= 1;
        answered += 1;
        if (answered === 99) late.resolve();
        return answer;
      },
      watch: (...call) => cluster.transport.watch(...call),
      raw: (...call) => cluster.transport.raw(...call),
    };
    const { done } = await executed(cluster, [batch(100)], { transport: slow });
    assert.equal(done, 100);
    assert.ok(most > 8, `${most} in flight at most`);
  });

  test("no round of a batch is larger than 500 requests", async () => {
    await using cluster = await startCluster();
    const sent = new Rounds(cluster.transport);
    await executed(cluster, [batch(1_600)], { transport: sent });
    const sizes = sent.rounds.map(({ length }) => length);
    assert.deepEqual(sizes, [1, 2, 4, 8, 16, 32, 64, 128, 256, 500, 500, 89]);
  });
});

describe("execute: refusals by the API server", () => {
  const rows: {
    name: string;
    write: (map: KubeObject) => Write;
    change?: "edited" | "deleted" | "replaced" | "namespace terminating";
    reason: string | undefined;
  }[] = [
    {
      name: "an update of an object that changed since is refused with Conflict",
      write: (map) => update(configMapKind, map),
      change: "edited",
      reason: "Conflict",
    },
    {
      name: "deleteUnchanged of an object that changed since is refused with Conflict",
      write: (map) => deleteUnchanged(configMapKind, map),
      change: "edited",
      reason: "Conflict",
    },
    {
      name: "a delete of an object that changed since succeeds",
      write: (map) => remove(configMapKind, map),
      change: "edited",
      reason: undefined,
    },
    {
      name: "a delete of an object that is gone (NotFound) counts as success",
      write: (map) => remove(configMapKind, map),
      change: "deleted",
      reason: undefined,
    },
    {
      name: "a delete of an object whose name has a new uid is refused with Conflict",
      write: (map) => remove(configMapKind, map),
      change: "replaced",
      reason: "Conflict",
    },
    {
      name: "a patch of an object that is gone (NotFound) counts as success",
      write: (map) => patch(configMapKind, map, "merge", { data: { a: "1" } }),
      change: "deleted",
      reason: undefined,
    },
    {
      name: "a patch of an object whose name has a new uid is refused with Invalid",
      write: (map) => patch(configMapKind, map, "merge", { data: { a: "1" } }),
      change: "replaced",
      reason: "Invalid",
    },
    {
      name: "an update of an object that is gone is refused with NotFound",
      write: (map) => update(configMapKind, map),
      change: "deleted",
      reason: "NotFound",
    },
    {
      name: "a create of an object that exists is refused with AlreadyExists",
      write: () => added("m"),
      reason: "AlreadyExists",
    },
    {
      name: "a create of an invalid object is refused with Invalid",
      write: () => added("Not_A_Name"),
      reason: "Invalid",
    },
  ];
  for (const { name, write, change, reason } of rows) {
    test(name, async () => {
      await using cluster = await startCluster();
      const map = await cluster.seed(configMapKind, { metadata: { name: "m" } });
      if (change === "edited") {
        await cluster.edit(configMapKind, "m", (draft) => void (draft.data = { by: "another" }));
      }
      if (change === "deleted" || change === "replaced") {
        await cluster.client.delete(configMapKind, { namespace: "default", name: "m" });
      }
      if (change === "replaced") await cluster.seed(configMapKind, { metadata: { name: "m" } });
      const { refused, done } = await executed(cluster, [write(map)]);
      assert.equal(refused?.status.reason, reason);
      assert.equal(done, reason === undefined ? 1 : 0);
    });
  }

  test("a create in a terminating namespace counts as success", async () => {
    await using cluster = await startCluster();
    const cause = { reason: "NamespaceTerminating", field: "metadata.namespace" };
    const status = { ...REFUSAL, details: { causes: [cause] } };
    const transport = answering(cluster.transport, () => failure(status));
    const { refused, done } = await executed(cluster, [added("a")], { transport });
    assert.deepEqual([refused, done], [undefined, 1]);
  });

  test("a transport that fails rejects the execution and sends nothing after it", async () => {
    await using cluster = await startCluster();
    const sent: string[] = [];
    const transport = answering(cluster.transport, (call) => {
      sent.push(nameIn(call));
      throw new Error("no answer");
    });
    await assert.rejects(
      executed(cluster, [added("a"), added("b")], { transport }),
      /^Error: no answer$/,
    );
    assert.deepEqual(sent, ["a"]);
  });
});

describe("execute: events about a write", () => {
  const about = build(configMapKind, { metadata: { name: "owner" } });
  const onDone: EventNote = { about, type: "Normal", reason: "Done", message: "Created {name}" };
  const onRefused: EventNote = { about, type: "Warning", reason: "Failed", message: "No: {error}" };
  const rows: { name: string; write: Write; want: (string | RegExp)[] }[] = [
    {
      name: "onDone has the name that the server generated",
      write: noted(added(undefined), { onDone, onRefused }),
      want: [/^Created made-[a-z0-9]{5}$/],
    },
    {
      name: "onRefused has the message of the Status",
      write: noted(added("refused"), { onDone, onRefused }),
      want: ['No: configmaps "refused" is forbidden: $& exceeded quota'],
    },
    {
      name: "a refusal with the reason in noEventFor records no event",
      write: noted(added("refused"), { onDone, onRefused, noEventFor: "Forbidden" }),
      want: [],
    },
    {
      name: "a delete of an object that is gone records no event",
      write: noted(remove(configMapKind, about), { onDone, onRefused }),
      want: [],
    },
  ];
  for (const { name, write, want } of rows) {
    test(name, async () => {
      await using cluster = await startCluster();
      const events: EventNote[] = [];
      const transport = new Rounds(cluster.transport);
      await executed(cluster, [write], { transport, note: (event) => events.push(event) });
      assert.equal(events.length, want.length);
      for (const [index, text] of want.entries()) {
        const { message } = events[index]!;
        if (typeof text === "string") assert.equal(message, text);
        else assert.match(message, text);
      }
    });
  }
});

describe("execute: waits until the informer caches show its writes", () => {
  const rows: {
    name: string;
    write: (map: KubeObject) => Write;
    /** What the cache shows after the write, from what the server holds then. */
    shows: (cache: Cache<KubeObject>, map: KubeObject, stored: KubeObject | undefined) => void;
    seed?: { finalizers?: string[] };
  }[] = [
    {
      name: "a create, until the object is in the cache",
      write: () => added("new"),
      shows: (cache, _map, stored) => cache.put(stored!),
    },
    {
      name: "an update, until the cache has its resourceVersion",
      write: (map) => update(configMapKind, { ...map, data: { a: "1" } } as KubeObject),
      shows: (cache, _map, stored) => cache.put(stored!),
    },
    {
      name: "a patch, until the cache has its resourceVersion",
      write: (map) => patch(configMapKind, map, "merge", { data: { a: "1" } }),
      shows: (cache, _map, stored) => cache.put(stored!),
    },
    {
      name: "a delete, until the object is gone from the cache",
      write: (map) => remove(configMapKind, map),
      shows: (cache, map) => cache.remove(map),
    },
    {
      name: "a delete held up by a finalizer, until the cache shows its deletionTimestamp",
      write: (map) => remove(configMapKind, map),
      seed: { finalizers: ["example.com/hold"] },
      shows: (cache, _map, stored) => cache.put(stored!),
    },
  ];
  for (const { name, write, shows, seed = {} } of rows) {
    test(name, async () => {
      await using cluster = await startCluster();
      const map = await cluster.seed(configMapKind, { metadata: { name: "m", ...seed } });
      const cache = new Cache<KubeObject>();
      cache.put(map);
      const intended = write(map);
      let over = false;
      const execution = executed(cluster, [intended], { findCache: () => cache }).finally(() => {
        over = true;
      });
      await cluster.advance(29_999);
      assert.equal(over, false, "it returned before the cache showed the write");
      const stored = cluster.get(configMapKind, nameOf(intended) ?? "");
      shows(cache, map, stored);
      assert.equal((await execution).done, 1);
    });
  }

  test("a patch that removes the last finalizer of a deleted object, until it is gone", async () => {
    await using cluster = await startCluster();
    const metadata = { name: "m", finalizers: ["example.com/hold"] };
    const held = await cluster.seed(configMapKind, { metadata });
    await cluster.client.delete(configMapKind, { namespace: "default", name: "m" });
    const marked = cluster.get(configMapKind, "m")!;
    const cache = new Cache<KubeObject>();
    cache.put(held);
    const write = patch(configMapKind, marked, "merge", { metadata: { finalizers: null } });
    let over = false;
    const execution = executed(cluster, [write], { findCache: () => cache }).finally(() => {
      over = true;
    });
    await cluster.advance(1_000);
    assert.deepEqual([over, cluster.names(configMapKind)], [false, []]);
    cache.remove(marked);
    assert.equal((await execution).done, 1);
  });

  test("later writes do not wait for the cache, the end does", async () => {
    await using cluster = await startCluster();
    const cache = new Cache<KubeObject>();
    let over = false;
    const execution = executed(cluster, [added("a"), added("b")], {
      findCache: () => cache,
    }).finally(() => {
      over = true;
    });
    await cluster.advance(0);
    assert.deepEqual(cluster.names(configMapKind), ["a", "b"]);
    cache.put(cluster.get(configMapKind, "b")!);
    await cluster.advance(0);
    assert.equal(over, false);
    cache.put(cluster.get(configMapKind, "a")!);
    await execution;
  });

  test("writes before a refusal are waited for too", async () => {
    await using cluster = await startCluster();
    const cache = new Cache<KubeObject>();
    let over = false;
    const execution = executed(cluster, [added("a"), added("refused")], {
      findCache: () => cache,
      transport: new Rounds(cluster.transport),
    }).finally(() => {
      over = true;
    });
    await cluster.advance(1_000);
    assert.equal(over, false);
    cache.put(cluster.get(configMapKind, "a")!);
    assert.equal((await execution).refused?.status.reason, "Forbidden");
  });

  test("a cache that stays behind is waited for 30 s", async () => {
    await using cluster = await startCluster();
    let over = false;
    const execution = executed(cluster, [added("a")], { findCache: () => new Cache() }).finally(
      () => {
        over = true;
      },
    );
    await cluster.advance(29_999);
    assert.equal(over, false);
    await cluster.advance(1);
    assert.equal(over, true);
    assert.deepEqual(await execution, { done: 1, refused: undefined });
  });

  const notAwaited: { name: string; writes: Writes }[] = [
    {
      name: "kinds without an informer are not waited for",
      writes: [create(secretKind, { metadata: { namespace: "default", name: "s" } })],
    },
    { name: "deleteAll is not waited for", writes: [deleteAll(configMapKind, "default")] },
  ];
  for (const { name, writes } of notAwaited) {
    test(name, async () => {
      await using cluster = await startCluster();
      const findCache: FindCache = (kind) => (kind === configMapKind ? new Cache() : undefined);
      const { done } = await executed(cluster, writes, { findCache });
      assert.deepEqual([done, cluster.clock.elapsedMs()], [1, 0]);
    });
  }

  test("an aborted signal ends the wait", async () => {
    await using cluster = await startCluster();
    const life = new AbortController();
    const execution = executed(cluster, [added("a")], {
      findCache: () => new Cache(),
      signal: life.signal,
    });
    const ended = assert.rejects(execution, /stopped/);
    await cluster.advance(0);
    const timers = cluster.clock.pendingTimers;
    life.abort(new Error("stopped"));
    await ended;
    assert.equal(cluster.clock.pendingTimers, timers - 1);
  });
});

const REFUSAL = forbiddenStatus(
  { group: "", resource: "configmaps" },
  "refused",
  "$& exceeded quota",
);

interface Parts {
  readonly transport?: Transport;
  readonly findCache?: FindCache;
  readonly note?: (event: EventNote) => void;
  readonly signal?: AbortSignal;
}

function executed(cluster: Cluster, writes: Writes, parts: Parts = {}): Promise<Execution> {
  const { transport = cluster.transport, findCache = () => undefined, note = () => {} } = parts;
  const { clock } = cluster;
  const client = new Client({ transport, clock, random: seededRandom(1), fieldManager: "test" });
  const signal = parts.signal ?? new AbortController().signal;
  return execute(writes, client, findCache, note, clock, signal);
}

/**
 * Groups requests into rounds: those that were sent before any of them was answered. Objects whose
 * name begins with `refused` are refused as a quota does; the server answers everything else.
 */
class Rounds implements Transport {
  readonly rounds: string[][] = [];
  readonly #server: Transport;
  #round:
    | {
        readonly names: string[];
        readonly complete: Promise<void>;
        readonly sent: Promise<unknown>[];
      }
    | undefined;

  constructor(server: Transport) {
    this.#server = server;
  }

  async send(call: Call, signal?: AbortSignal): ReturnType<Transport["send"]> {
    const name = nameIn(call);
    if (this.#round === undefined) {
      this.#round = { names: [], complete: nextTurn(), sent: [] };
      this.rounds.push(this.#round.names);
    }
    const { names, complete, sent } = this.#round;
    names.push(name);
    await complete;
    this.#round = undefined;
    const answer = name.startsWith("refused") ? failure(REFUSAL) : this.#server.send(call, signal);
    sent.push(Promise.resolve(answer));
    await nextTurn();
    await Promise.all(sent); // all answers of a round come at once
    return answer;
  }

  watch(...call: Parameters<Transport["watch"]>): ReturnType<Transport["watch"]> {
    return this.#server.watch(...call);
  }

  raw(...call: Parameters<Transport["raw"]>): ReturnType<Transport["raw"]> {
    return this.#server.raw(...call);
  }
}

function answering(
  server: Transport,
  answer: (call: Call) => Awaited<ReturnType<Transport["send"]>>,
): Transport {
  return {
    send: async (call) => answer(call),
    watch: (...call) => server.watch(...call),
    raw: (...call) => server.raw(...call),
  };
}

/** A create; without a name the server generates one. */
function added(name: string | undefined): Write {
  const named = name === undefined ? { generateName: "made-" } : { name };
  return create(configMapKind, { metadata: { namespace: "default", ...named } });
}

function batch(count: number, prefix = "n"): Write[] {
  return Array.from({ length: count }, (_, index) => added(`${prefix}${index}`));
}

function names(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => `n${from + index}`);
}

function nameOf(write: Write | undefined): string | undefined {
  if (write === undefined) return undefined;
  if ("target" in write) return write.target.name;
  return "object" in write ? write.object.metadata.name : undefined;
}

function nameIn({ name, body }: Call): string {
  return name ?? (body as KubeObject | undefined)?.metadata.name ?? "";
}
