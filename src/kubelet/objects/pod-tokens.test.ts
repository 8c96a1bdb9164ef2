import assert from "node:assert/strict";
import { test } from "vitest";
import type { TokenRequest } from "#api/generated/authentication.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { Client } from "#client/client.ts";
import { type Transport, TransportError } from "#client/transport.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { PodTokens } from "./pod-tokens.ts";

test("a token is used until it expires while the API server is away, and renewed when it is back", async () => {
  const clock = new VirtualClock();
  let isAway = false;
  let count = 0;
  const transport = {
    send: async () => {
      if (isAway) throw new TransportError("connection refused");
      const expirationTimestamp = timeFromMs(clock.nowMs() + 600_000);
      const status = { token: `token-${++count}`, expirationTimestamp };
      return { ok: true, value: { status } as TokenRequest };
    },
  } as unknown as Transport;
  const client = new Client({ transport, clock, random: seededRandom(1), fieldManager: "test" });
  const tokens = new PodTokens(client, clock);
  const pod = { metadata: { uid: "u" }, spec: {} } as unknown as Pod;
  const get = async (): Promise<string> =>
    (await tokens.get(pod, { expirationSeconds: 600 })).token;
  assert.equal(await get(), "token-1");
  isAway = true;
  await clock.advance(490_000);
  assert.equal(await get(), "token-1"); // renewal is due, and fails
  isAway = false;
  assert.equal(await get(), "token-1"); // not tried again at once
  await clock.advance(10_000);
  assert.equal(await get(), "token-2");
  isAway = true;
  await clock.advance(600_000);
  await assert.rejects(get(), TransportError);
});
