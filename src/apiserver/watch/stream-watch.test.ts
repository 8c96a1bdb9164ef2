import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { nextTurn } from "#lib/async/next-turn.ts";
import { CONFIG_MAPS, configMap, startTestApi, type TestApi } from "../api.testing.ts";
import type { Reply } from "../http/exchange.ts";
import type { FrameChunk } from "../response/byte-chunk.ts";
import { JSON_MEDIA } from "../response/negotiate.ts";
import { streamWatch } from "./stream-watch.ts";
import { createFrameEncoder } from "./watch-frames.ts";

const KILOBYTE = 1024;

/** A client that reads nothing until `read` is called. */
class Stalled implements Reply {
  readonly gone = false;
  readonly started = true;
  bytes = 0;
  writes = 0;
  text = "";
  ended = false;
  destroyed = false;
  reading = false;
  #drained: () => void = () => undefined;

  send(): void {}
  start(): void {}
  write(): boolean {
    return false;
  }
  writeChunk({ bytes }: FrameChunk): boolean {
    this.bytes += bytes.length;
    this.writes += 1;
    this.text += Buffer.from(bytes).toString();
    return this.reading;
  }
  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }
  end(): void {
    this.ended = true;
  }
  destroy(): void {
    this.destroyed = true;
  }
  read(): void {
    this.reading = true;
    this.#drained();
  }
  /** Takes what was sent, and no more. */
  readOnce(): void {
    this.#drained();
  }
}

async function begin(t: TestApi, url: string, closing = new AbortController().signal) {
  const client = new Stalled();
  const life = new AbortController();
  const feed = await t.watch(url);
  let held = 0;
  const pull = feed.pull.bind(feed);
  feed.pull = (countMax) => {
    const events = pull(countMax);
    if (events === "over") return events;
    for (const event of events) if ("object" in event) held += event.object.json.length;
    return events;
  };
  const encode = createFrameEncoder(feed.kind, JSON_MEDIA, new URLSearchParams(), t.api.tables);
  const count = t.api.watches.of(feed.kind);
  const fanOut = t.api.fanOuts.of(feed.kind);
  const { signal } = life;
  const done = streamWatch(feed, { encode, count, fanOut, reply: client, signal, closing });
  await nextTurn();
  /** `held`: bytes of all objects that were taken out of the feed. */
  return { client, done, leave: () => life.abort(), held: () => held };
}

test("a watch whose feed fails is rejected, and does not end the process", async () => {
  await using t = await startTestApi();
  const feed = await t.watch(`${CONFIG_MAPS}?watch=1`);
  feed.pull = () => {
    throw new Error("not converted");
  };
  const { signal } = new AbortController();
  const encode = createFrameEncoder(feed.kind, JSON_MEDIA, new URLSearchParams(), t.api.tables);
  const delivery = {
    encode,
    count: t.api.watches.of(feed.kind),
    fanOut: t.api.fanOuts.of(feed.kind),
  };
  const watching = streamWatch(feed, {
    ...delivery,
    reply: new Stalled(),
    signal,
    closing: signal,
  });
  await assert.rejects(watching, /not converted/);
});

/** The watch notices in one turn that the client reads again, and sends at the end of the next. */
async function flushed(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

/** Replaces one object again and again, each time with so many bytes. */
async function rewrite(t: TestApi, times: number, bytes: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    const data = { large: String(n % 10).repeat(bytes) };
    await t.want(200, "PUT", `${CONFIG_MAPS}/a`, { body: configMap("a", { data }) });
  }
}

describe("watch cache: a client that does not read", () => {
  test("is sent one chunk of bounded size, however many events there are", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    const { client, leave, done } = await begin(t, `${CONFIG_MAPS}?watch=1`);
    const before = client.bytes;
    await rewrite(t, 100, 100 * KILOBYTE);
    assert.ok(client.writes <= 2, `${client.writes} writes`);
    assert.ok(client.bytes - before <= 128 * KILOBYTE, `${client.bytes} bytes`);
    leave();
    await done;
    assert.ok(client.ended);
  });

  test("holds one chunk and a few objects in memory, also when it reads a little", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    const { client, leave, done, held } = await begin(t, `${CONFIG_MAPS}?watch=1`);
    await rewrite(t, 100, 100 * KILOBYTE);
    const before = held();
    client.readOnce();
    await flushed();
    assert.ok(held() > before);
    assert.ok(held() - before <= (256 + 8 * 101) * KILOBYTE, `${held() - before} bytes`);
    leave();
    await done;
  });

  test("gets its backlog in chunks of at most 256 KiB and a few objects", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    const { client, leave, done } = await begin(t, `${CONFIG_MAPS}?watch=1`);
    await rewrite(t, 60, 20 * KILOBYTE);
    let largest = 0;
    const write = client.writeChunk.bind(client);
    client.writeChunk = (chunk) => {
      largest = Math.max(largest, chunk.bytes.length);
      return write(chunk);
    };
    client.read();
    await flushed();
    assert.equal(client.text.match(/"type":"MODIFIED"/g)?.length, 60);
    const metrics = await t.want(200, "GET", "/metrics");
    const place = 'group="",version="v1",resource="configmaps"';
    assert.ok(metrics.includes(`apiserver_watch_events_total{${place}} 61\n`)); // ADDED too
    assert.ok(largest <= (256 + 8 * 21) * KILOBYTE, `a chunk of ${largest} bytes`);
    leave();
    await done;
  });

  test("does not delay the shutdown of the server", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    const closing = new AbortController();
    const { client, done } = await begin(t, `${CONFIG_MAPS}?watch=1`, closing.signal);
    closing.abort();
    await done;
    assert.ok(client.destroyed);
  });
});
