/** The forwarder against upstream servers on loopback that do what a row says. */
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import packets from "dns-packet";
import { test } from "vitest";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { encodeForeignAnswer } from "../wire/foreign-answer.ts";
import { parseQuery, type Query } from "../wire/parse-query.ts";
import { frame, TcpFrames } from "../wire/tcp-frames.ts";
import { createForwardMetrics } from "./forward-metrics.ts";
import { type Forwarded, Forwarder, type ForwarderOptions } from "./forwarder.ts";
import type { Upstream } from "./resolv-conf.ts";

const signal = new AbortController().signal;

test("forward: the answer is cached for its TTL; a client gets its id, its case and the time that is left", async () => {
  await using upstream = await startUpstream(answerWith({ ttl: 20 }));
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, elapsedMs: () => systemClock.elapsedMs() + aheadMs };
  const { forwarder, metrics } = forwarderTo([upstream], { clock });
  assert.deepEqual(await shown(forwarder, ask("www.example.com")), ["192.0.2.1", 20]);
  aheadMs = 12_000;
  const query = ask("WWW.example.com", 9);
  const again = await forwarder.resolve(query, signal);
  assert.ok(again.outcome === "answer" && again.ttlSeconds >= 7 && again.ttlSeconds <= 8);
  const packet = packets.decode(encodeForeignAnswer(again.answer, query, again.ttlSeconds, 512));
  assert.equal(packet.id, 9);
  assert.equal(packet.questions?.[0]?.name, "WWW.example.com");
  assert.equal(upstream.asked, 1);
  aheadMs = 20_001;
  await forwarder.resolve(query, signal);
  assert.equal(upstream.asked, 2);
  assert.match(metrics.text(), /coredns_cache_hits_total\{[^}]*type="success"[^}]*\} 1\n/);
  assert.match(metrics.text(), /coredns_cache_entries\{[^}]*type="success"[^}]*\} 1\n/);
});

test("forward: TTLs are between 5 and 30 seconds", async () => {
  await using short = await startUpstream(answerWith({ ttl: 0 }));
  await using long = await startUpstream(answerWith({ ttl: 86_400 }));
  assert.deepEqual(await shown(forwarderTo([short]).forwarder, ask("a.test")), ["192.0.2.1", 5]);
  assert.deepEqual(await shown(forwarderTo([long]).forwarder, ask("a.test")), ["192.0.2.1", 30]);
});

test("forward: NXDOMAIN is cached for the minimum of its SOA record", async () => {
  await using upstream = await startUpstream((query) => ({
    ...replyTo(query, 3),
    authorities: [{ type: "SOA", name: "test", ttl: 900, data: { ...SOA, minimum: 11 } }],
  }));
  const { forwarder } = forwarderTo([upstream]);
  const found = await forwarder.resolve(ask("absent.test"), signal);
  assert.ok(found.outcome === "answer" && found.ttlSeconds === 11 && found.answer.rcode === 3);
  await forwarder.resolve(ask("absent.test"), signal);
  assert.equal(upstream.asked, 1);
});

test("Forwarder: forward: an upstream that is silent or dead is followed by the next", async () => {
  await using silent = await startUpstream(() => undefined);
  await using good = await startUpstream(answerWith({ ttl: 20 }));
  const dead = { address: "127.0.0.1", port: 1 };
  const { forwarder } = forwarderTo([silent, dead, good], { timeoutMs: 50 });
  for (const name of ["a.test", "b.test", "c.test", "d.test"]) {
    assert.deepEqual(await shown(forwarder, ask(name)), ["192.0.2.1", 20]);
  }
});

test("Forwarder: forward: without an answer it fails at the deadline", async () => {
  await using silent = await startUpstream(() => undefined);
  const { forwarder } = forwarderTo([silent], { timeoutMs: 30, deadlineMs: 100 });
  const startMs = systemClock.elapsedMs();
  assert.deepEqual(await forwarder.resolve(ask("a.test"), signal), { outcome: "failed" });
  assert.ok(systemClock.elapsedMs() - startMs < 1_000);
});

test("forward: a truncated answer is asked for again over TCP", async () => {
  await using upstream = await startUpstream((query, carrier) =>
    carrier === "udp"
      ? { ...replyTo(query, 0), flags: packets.TRUNCATED_RESPONSE }
      : answerWith({ ttl: 20 })(query),
  );
  assert.deepEqual(await shown(forwarderTo([upstream]).forwarder, ask("big.test")), [
    "192.0.2.1",
    20,
  ]);
});

test("Forwarder: forward: packets with another id or another question are ignored", async () => {
  await using liar = await startUpstream((query) => {
    const right = answerWith({ ttl: 20 })(query);
    const name = "other.test";
    return query.id! % 2 === 0
      ? { ...right, id: (query.id! + 1) % 65_536 }
      : { ...right, questions: [{ type: "A", name }] };
  });
  const { forwarder } = forwarderTo([liar], { timeoutMs: 40, deadlineMs: 150 });
  assert.deepEqual(await forwarder.resolve(ask("a.test"), signal), { outcome: "failed" });
});

test("forward: the same question is asked once at a time, others are refused beyond the limit", async () => {
  await using silent = await startUpstream(() => undefined);
  const limits = { timeoutMs: 50, deadlineMs: 50, concurrentMax: 2 };
  const { forwarder, metrics } = forwarderTo([silent], limits);
  const names = ["a.test", "A.test", "a.test", "b.test", "c.test"];
  const outcomes = await Promise.all(names.map((name) => forwarder.resolve(ask(name), signal)));
  assert.deepEqual(
    outcomes.map(({ outcome }) => outcome),
    ["failed", "failed", "failed", "failed", "refused"],
  );
  assert.equal(silent.asked, 2);
  assert.match(metrics.text(), /coredns_forward_max_concurrent_rejects_total 1\n/);
});

test("forward: the cache stays within its limit of entries", async () => {
  await using upstream = await startUpstream(answerWith({ ttl: 20 }));
  const cache = {
    ...{ entriesMax: 3, bytesMax: 1e6, ttlMinSeconds: 5, ttlMaxSeconds: 30, failureTtlSeconds: 5 },
  };
  const { forwarder, metrics } = forwarderTo([upstream], { cache });
  for (let i = 0; i < 8; i++) await forwarder.resolve(ask(`n${i}.test`), signal);
  assert.match(metrics.text(), /coredns_cache_entries\{[^}]*type="success"[^}]*\} 3\n/);
});

const SOA = {
  ...{ mname: "ns.test", rname: "root.test", serial: 1, refresh: 1, retry: 1, expire: 1 },
};

type Reply = (query: packets.DecodedPacket, carrier: "udp" | "tcp") => packets.Packet | undefined;

function replyTo(query: packets.Packet, rcode: number): packets.Packet {
  return { type: "response", id: query.id!, flags: rcode, questions: query.questions! };
}

function answerWith({ ttl }: { readonly ttl: number }): (query: packets.Packet) => packets.Packet {
  return (query) => ({
    ...replyTo(query, 0),
    answers: [{ type: "A", name: query.questions![0]!.name, ttl, data: "192.0.2.1" }],
    additionals: query.additionals!,
  });
}

interface TestUpstream extends Upstream, AsyncDisposable {
  asked: number;
}

async function startUpstream(reply: Reply): Promise<TestUpstream> {
  const socket = createSocket("udp4");
  socket.on("message", (packet, { port }) => {
    upstream.asked += 1;
    const answer = reply(packets.decode(packet), "udp");
    if (answer !== undefined) socket.send(packets.encode(answer), port, "127.0.0.1");
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  const { port } = socket.address();
  const server = createServer((connection) => {
    const frames = new TcpFrames();
    connection.on("data", (bytes) => {
      for (const packet of frames.push(bytes)) {
        const answer = reply(packets.decode(packet), "tcp");
        if (answer !== undefined) connection.write(frame(packets.encode(answer)));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const upstream: TestUpstream = {
    address: "127.0.0.1",
    port,
    asked: 0,
    [Symbol.asyncDispose]: async () => {
      socket.close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return upstream;
}

function forwarderTo(upstreams: readonly Upstream[], options: Partial<ForwarderOptions> = {}) {
  const metrics = new Metrics();
  const forwarder = new Forwarder({
    ...{ upstreams, clock: systemClock, random: seededRandom(3) },
    metrics: createForwardMetrics(metrics, "dns://:53"),
    ...options,
  });
  return { forwarder, metrics };
}

async function shown(forwarder: Forwarder, query: Query): Promise<unknown> {
  const found: Forwarded = await forwarder.resolve(query, signal);
  if (found.outcome !== "answer") return found;
  const packet = encodeForeignAnswer(found.answer, query, found.ttlSeconds, 512);
  const [answer] = packets.decode(packet).answers ?? [];
  return answer?.type === "A" ? [answer.data, answer.ttl] : answer;
}

function ask(name: string, id = 7): Query {
  const packet = packets.encode({ type: "query", id, questions: [{ type: "A", name }] });
  const parsed = parseQuery(packet);
  assert.ok(parsed.outcome === "query");
  return parsed.query;
}
