import assert from "node:assert/strict";
import packets from "dns-packet";
import { test } from "vitest";
import { systemClock } from "#lib/time/system-clock.ts";
import { parseQuery } from "../wire/parse-query.ts";
import { askUpstream } from "./ask-upstream.ts";

test("forward: an upstream to which no UDP socket can be connected is an error of the query", async () => {
  const packet = packets.encode({ type: "query", questions: [{ type: "A", name: "a.test" }] });
  const parsed = parseQuery(packet);
  assert.ok(parsed.outcome === "query");
  // The kernel refuses to connect a socket to the broadcast address; nothing is sent.
  const upstream = { address: "255.255.255.255", port: 53 };
  const { signal } = new AbortController();
  const options = { clock: systemClock, timeoutMs: 5_000, id: 1 };
  await assert.rejects(askUpstream(upstream, parsed.query, options, signal), /EACCES/);
});
