import assert from "node:assert/strict";
import { test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { FLAG, FRAME, frame } from "./frames.ts";
import { PingReplies } from "./ping-replies.ts";

const BANDWIDTH = Buffer.from([2, 4, 16, 16, 9, 14, 7, 7]);
const OTHER = Buffer.alloc(8, 1);

function replies(isLocal: boolean) {
  const clock = new VirtualClock();
  const sent: Buffer[] = [];
  const pings = new PingReplies({ clock, isLocal, push: (bytes) => sent.push(bytes) });
  return { clock, sent, pings };
}

const acknowledgement = (payload: Buffer): Buffer => frame(FRAME.ping, FLAG.ack, 0, payload);

test("HTTP/2: a PING of gRPC servers for bandwidth is acknowledged behind a request 5 s later on a Unix socket", async () => {
  const { clock, sent, pings } = replies(true);
  pings.receive(BANDWIDTH);
  await clock.advance(4_999);
  pings.requestSent();
  assert.deepEqual(sent, []);
  await clock.advance(1);
  assert.deepEqual(sent, []);
  pings.requestSent();
  pings.requestSent();
  assert.deepEqual(sent, [acknowledgement(BANDWIDTH)]);
});

test("HTTP/2: other PINGs on a Unix socket are acknowledged at once", () => {
  const { sent, pings } = replies(true);
  pings.receive(BANDWIDTH);
  pings.receive(OTHER);
  assert.deepEqual(sent, [acknowledgement(OTHER)]);
});

test("HTTP/2: every PING that comes over a network is acknowledged at once", () => {
  const { sent, pings } = replies(false);
  for (const payload of [BANDWIDTH, OTHER, BANDWIDTH]) pings.receive(payload);
  assert.deepEqual(sent, [BANDWIDTH, OTHER, BANDWIDTH].map(acknowledgement));
});
