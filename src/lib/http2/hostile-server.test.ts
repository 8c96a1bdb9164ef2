/** Frames as a test writes them: interleaved, cut anywhere, against the protocol, or none at all. */
import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import fc from "fast-check";
import { describe, test } from "vitest";
import { nextTurn } from "#lib/async/next-turn.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { Http2Stream } from "./client-stream.ts";
import { FLAG, FRAME, frame, SETTING, settingsFrame, windowUpdateFrame } from "./frames.ts";
import { encodeHeaders } from "./hpack-encode.ts";
import { Http2Connection, STREAM_WINDOW } from "./http2-connection.ts";
import type { Http2Error } from "./http2-error.ts";

const REQUEST = encodeHeaders([
  [":method", "POST"],
  [":path", "/x"],
]);
const HEADERS = encodeHeaders([[":status", "200"]]);
const TRAILERS = encodeHeaders([["grpc-status", "0"]]);

class Conversation {
  readonly clock = new VirtualClock();
  readonly sent: Buffer[] = [];
  readonly socket = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _, done) => {
      this.sent.push(chunk);
      done();
    },
  });
  end: Http2Error | undefined;
  readonly connection = new Http2Connection(this.socket, {
    clock: this.clock,
    keepAlive: { idleMs: 10_000, answerMs: 2_000 },
    onEnd: (error) => {
      this.end = error;
    },
  });

  constructor() {
    this.connection.start();
  }

  async says(...frames: readonly Buffer[]): Promise<void> {
    this.socket.push(Buffer.concat(frames));
    await nextTurn();
    await nextTurn();
  }
}

interface Log {
  readonly stream: Http2Stream;
  headers: number;
  data: string;
  end: string | undefined;
}

function open(connection: Http2Connection): Log {
  const log = { headers: 0, data: "", end: undefined as string | undefined };
  const stream = connection.open(REQUEST, {
    onHeaders: () => {
      log.headers += 1;
    },
    onData: (bytes) => {
      log.data += bytes.toString("latin1");
    },
    onClose: (error) => {
      log.end = error?.code ?? "ended";
    },
  });
  stream.write(Buffer.from("question"), true);
  return Object.assign(log, { stream });
}

const data = (id: number, text: string, flags = 0): Buffer =>
  frame(FRAME.data, flags, id, Buffer.from(text));
const headers = (id: number, block: Buffer, flags: number = FLAG.endHeaders): Buffer =>
  frame(FRAME.headers, flags, id, block);
const END = FLAG.endHeaders | FLAG.endStream;

interface Breach {
  readonly name: string;
  readonly code: string;
  readonly frames: readonly Buffer[];
}

const SETTINGS = settingsFrame([]);
const BREACHES: readonly Breach[] = [
  { name: "no SETTINGS first", code: "PROTOCOL_ERROR", frames: [data(1, "x")] },
  {
    name: "a frame that is too long",
    code: "FRAME_SIZE_ERROR",
    frames: [Buffer.from("ffffff000000000001", "hex")],
  },
  {
    name: "SETTINGS of a wrong size",
    code: "FRAME_SIZE_ERROR",
    frames: [frame(FRAME.settings, 0, 0, Buffer.alloc(5))],
  },
  {
    name: "a window above the maximum",
    code: "FLOW_CONTROL_ERROR",
    frames: [SETTINGS, windowUpdateFrame(0, 2 ** 31 - 1)],
  },
  {
    name: "an initial window above the maximum",
    code: "FLOW_CONTROL_ERROR",
    frames: [settingsFrame([[SETTING.initialWindowSize, 2 ** 31]])],
  },
  {
    name: "frames smaller than the minimum",
    code: "PROTOCOL_ERROR",
    frames: [settingsFrame([[SETTING.maxFrameSize, 1]])],
  },
  {
    name: "a window that grows by nothing",
    code: "PROTOCOL_ERROR",
    frames: [SETTINGS, windowUpdateFrame(0, 0)],
  },
  {
    name: "a push",
    code: "PROTOCOL_ERROR",
    frames: [SETTINGS, frame(FRAME.pushPromise, FLAG.endHeaders, 1, Buffer.alloc(8))],
  },
  {
    name: "data of a stream that was not opened",
    code: "PROTOCOL_ERROR",
    frames: [SETTINGS, data(7, "x")],
  },
  {
    name: "headers of a stream of its own",
    code: "PROTOCOL_ERROR",
    frames: [SETTINGS, headers(2, HEADERS)],
  },
  {
    name: "another frame in a header block",
    code: "PROTOCOL_ERROR",
    frames: [SETTINGS, headers(1, HEADERS, 0), data(1, "x")],
  },
  {
    name: "a continuation of nothing",
    code: "PROTOCOL_ERROR",
    frames: [SETTINGS, frame(FRAME.continuation, FLAG.endHeaders, 1, HEADERS)],
  },
  {
    name: "headers without end",
    code: "ENHANCE_YOUR_CALM",
    frames: [
      SETTINGS,
      headers(1, HEADERS, 0),
      ...Array.from({ length: 70 }, () => frame(FRAME.continuation, 0, 1, Buffer.alloc(0))),
    ],
  },
  {
    name: "an invalid header block",
    code: "COMPRESSION_ERROR",
    frames: [SETTINGS, headers(1, Buffer.of(0x80))],
  },
  {
    name: "more padding than bytes",
    code: "PROTOCOL_ERROR",
    frames: [SETTINGS, frame(FRAME.data, FLAG.padded, 1, Buffer.of(9, 1))],
  },
  {
    name: "a PING of a wrong size",
    code: "FRAME_SIZE_ERROR",
    frames: [SETTINGS, frame(FRAME.ping, 0, 0, Buffer.alloc(7))],
  },
];

describe("HTTP/2: a server that breaks the protocol is left", () => {
  for (const { name, code, frames } of BREACHES) {
    test(`${name}: ${code}`, async () => {
      const conversation = new Conversation();
      const log = open(conversation.connection);
      await conversation.says(...frames);
      assert.equal(conversation.end?.code, code);
      assert.equal(log.end, code);
      assert.equal(conversation.connection.isOpen, false);
      assert.ok(conversation.socket.destroyed);
    });
  }

  test("data beyond the window of a paused stream: FLOW_CONTROL_ERROR", async () => {
    const conversation = new Conversation();
    const log = open(conversation.connection);
    log.stream.pause();
    const part = "x".repeat(16_384);
    const full = Array.from({ length: STREAM_WINDOW / part.length }, () => data(1, part));
    await conversation.says(SETTINGS, headers(1, HEADERS), ...full);
    assert.equal(log.data.length, STREAM_WINDOW);
    assert.ok(conversation.connection.isOpen);
    await conversation.says(data(1, "x"));
    assert.equal(conversation.end?.code, "FLOW_CONTROL_ERROR");
  });
});

test("HTTP/2: frames of streams in any order, cut anywhere, reach their own streams", async () => {
  const texts = fc.array(fc.string({ unit: "binary-ascii", maxLength: 30 }), { maxLength: 5 });
  const plans = fc.array(texts, { minLength: 1, maxLength: 6 });
  const order = fc.infiniteStream(fc.nat());
  const chunkBytes = fc.integer({ min: 1, max: 40 });
  await fc.assert(
    fc.asyncProperty(plans, order, chunkBytes, async (plan, choices, size) => {
      const { connection, socket } = new Conversation();
      const logs = plan.map(() => open(connection));
      const queues = plan.map((parts, at) => [
        headers(1 + 2 * at, HEADERS),
        ...parts.map((text) => data(1 + 2 * at, text)),
        headers(1 + 2 * at, TRAILERS, END),
      ]);
      const bytes = Buffer.concat([SETTINGS, ...shuffled(queues, choices)]);
      for (let offset = 0; offset < bytes.length; offset += size) {
        socket.push(bytes.subarray(offset, offset + size));
      }
      await nextTurn();
      await nextTurn();
      assert.deepEqual(
        logs.map(({ data: text, headers: count, end }) => ({ text, count, end })),
        plan.map((parts) => ({ text: parts.join(""), count: 2, end: "ended" })),
      );
    }),
    { numRuns: 60 },
  );
});

test("HTTP/2: padding, priorities, continuations and unknown frames are understood", async () => {
  const { connection, says } = bound(new Conversation());
  const log = open(connection);
  await says(
    SETTINGS,
    frame(0xbb, 0, 1, Buffer.from("unknown")),
    frame(FRAME.headers, FLAG.padded | FLAG.priority, 1, padded(Buffer.alloc(5), HEADERS)),
    frame(FRAME.continuation, FLAG.endHeaders, 1, Buffer.alloc(0)),
    frame(FRAME.data, FLAG.padded, 1, padded(Buffer.from("answer"))),
    headers(1, TRAILERS, END),
  );
  assert.deepEqual([log.headers, log.data, log.end], [2, "answer", "ended"]);
});

test("HTTP/2: header blocks of cancelled streams still change the dynamic table", async () => {
  const { connection, says } = bound(new Conversation());
  const cancelled = open(connection);
  const kept = open(connection);
  cancelled.stream.cancel();
  const indexed = Buffer.from("40016e0176", "hex"); // n: v goes into the table
  await says(SETTINGS, headers(1, indexed), headers(3, Buffer.of(0x80 | 62), END));
  assert.deepEqual([cancelled.headers, cancelled.end], [0, undefined]);
  assert.deepEqual([kept.headers, kept.end], [1, "ended"]);
});

test("HTTP/2: a server that does not answer a PING is given up, one that does is not", async () => {
  const { connection, clock, says, conversation } = bound(new Conversation());
  await says(SETTINGS);
  const log = open(connection);
  await clock.advance(10_000);
  await says(frame(FRAME.ping, FLAG.ack, 0, Buffer.alloc(8)));
  await clock.advance(9_999);
  assert.equal(log.end, undefined);
  await clock.advance(2_001);
  assert.equal(log.end, "CONNECT_ERROR");
  assert.equal(conversation.end?.message, "the server does not answer");
});

test("HTTP/2: without open streams no timer runs", async () => {
  const { connection, clock, says } = bound(new Conversation());
  open(connection);
  await says(SETTINGS, headers(1, HEADERS, END));
  await clock.advance(10_000);
  clock[Symbol.dispose](); // throws if a timer is left
  assert.equal(connection.isOpen, true);
});

test("HTTP/2: calls of one turn go out in one write", async () => {
  const conversation = new Conversation();
  await conversation.says(SETTINGS);
  conversation.sent.length = 0;
  for (let call = 0; call < 100; call++) open(conversation.connection);
  await nextTurn();
  assert.equal(conversation.sent.length, 1);
});

function bound(conversation: Conversation) {
  const { connection, clock } = conversation;
  return {
    conversation,
    connection,
    clock,
    says: (...frames: readonly Buffer[]) => conversation.says(...frames),
  };
}

function padded(...parts: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.of(3), ...parts, Buffer.alloc(3)]);
}

/** Takes from the queues in an order that `choices` gives; each queue keeps its own order. */
function shuffled(queues: readonly Buffer[][], choices: fc.Stream<number>): Buffer[] {
  const left = queues.filter((queue) => queue.length > 0);
  const out: Buffer[] = [];
  while (left.length > 0) {
    const at = choices.next().value % left.length;
    out.push(left[at]!.shift()!);
    if (left[at]!.length === 0) left.splice(at, 1);
  }
  return out;
}
