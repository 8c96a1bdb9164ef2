import assert from "node:assert/strict";
import { test } from "vitest";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { seededRandom } from "#lib/random.ts";
import { startCluster } from "#testing/cluster.ts";
import { AccountTokens } from "./account-tokens.ts";
import { Client } from "./client.ts";
import type { Transport } from "./transport.ts";

test("an account is made, its token kept for most of its life, then renewed; failures are tried again", async () => {
  await using cluster = await startCluster({ at: "2030-01-01T00:00:00Z" });
  await cluster.seed(namespaceKind, { metadata: { name: "kube-system" } });
  let fails = false;
  let asked = 0;
  const transport: Transport = {
    ...cluster.transport,
    send: (call, signal) => {
      if (call.subresource === "token") asked += 1;
      if (!fails) return cluster.transport.send(call, signal);
      return Promise.reject(new Error("down"));
    },
  };
  const { clock } = cluster;
  const client = new Client({ transport, clock, random: seededRandom(1), fieldManager: "test" });
  const tokens = new AccountTokens(client, clock);
  const token = (): Promise<string> => tokens.token("kube-system", "worker");

  const [first, again] = await Promise.all([token(), token()]);
  assert.equal(first, again);
  assert.deepEqual(cluster.names(serviceAccountKind), ["worker"]);
  assert.equal(asked, 2); // once before the account was there, once after
  await cluster.advance(47 * 60_000);
  assert.equal(await token(), first);
  await cluster.advance(60_000);
  fails = true;
  await assert.rejects(token(), /down/);
  fails = false;
  assert.notEqual(await token(), first);
});
