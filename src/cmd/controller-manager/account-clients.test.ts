import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { success } from "#api/meta/status.ts";
import type { Client } from "#client/client.ts";
import type { Connection } from "#client/kubeconfig.ts";
import type { RateLimit } from "#client/rate-limit.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { AccountClients } from "./account-clients.ts";
import { rateLimitFor } from "./pace-flags.ts";

const SERVER = "https://cluster.example:6443";

/** Clients whose requests are written down: who asked, and after how many milliseconds. */
function world(limit: RateLimit | undefined, useAccounts = true) {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const startMs = clock.elapsedMs();
  const sent: string[] = [];
  const opened: string[] = [];
  const ended: string[] = [];
  const open = (connection: Connection) => {
    const who = connection.token === undefined ? "itself" : `account ${opened.length}`;
    opened.push(`${who} at ${connection.server}`);
    const note = async () => {
      await connection.token?.();
      sent.push(`${who} ${clock.elapsedMs() - startMs}`);
      const expirationTimestamp = "2030-01-02T00:00:00Z";
      return success({ metadata: {}, status: { token: "t", expirationTimestamp } });
    };
    return {
      send: note,
      raw: note,
      async *watch() {
        yield [{ type: "BOOKMARK" as const, object: { metadata: {} } }];
      },
      [Symbol.dispose]: () => void ended.push(who),
    };
  };
  const clients = new AccountClients({
    ...{ clock, random: seededRandom(1), fieldManager: "test", useAccounts, open },
    connection: { server: SERVER },
    limitFor: (name) => rateLimitFor(name, limit),
  });
  const ask = async (client: Client, times: number): Promise<readonly string[]> => {
    sent.length = 0;
    const asked = Array.from({ length: times }, () => client.get(configMapKind, { name: "x" }));
    await clock.advance(60_000);
    await Promise.all(asked);
    return [...sent];
  };
  return { clients, ask, opened, ended };
}

const SLOW: RateLimit = { perSecond: 1, burst: 2 };

describe("clients of controllers", () => {
  test("each has the limit of the flags for itself alone", async () => {
    const { clients, ask } = world(SLOW, false);
    const first = await ask(clients.clientFor("job-controller"), 4);
    assert.deepEqual(first, ["itself 0", "itself 0", "itself 1000", "itself 2000"]);
    // Another is not held back by what the first one asked; a minute has passed.
    const second = await ask(clients.clientFor("cronjob-controller"), 3);
    assert.deepEqual(second, ["itself 60000", "itself 60000", "itself 61000"]);
    const shared = await ask(clients.create("shared"), 3);
    assert.deepEqual(shared, ["itself 120000", "itself 120000", "itself 121000"]);
  });

  test("the namespace controller has a larger burst", async () => {
    const { clients, ask } = world(SLOW, false);
    const sent = await ask(clients.clientFor("namespace-controller"), 201);
    assert.deepEqual(sent.slice(199), ["itself 0", "itself 50"]);
  });

  test("without a limit nothing waits", async () => {
    const { clients, ask } = world(undefined, false);
    const sent = await ask(clients.clientFor("job-controller"), 50);
    assert.deepEqual(new Set(sent), new Set(["itself 0"]));
  });

  test("accounts are limited too, and share a connection where they share a name", async () => {
    const { clients, ask, opened, ended } = world(SLOW);
    const ipam = clients.clientFor("node-ipam-controller");
    assert.equal(clients.clientFor("node-ipam-controller"), ipam);
    assert.deepEqual(
      (await ask(ipam, 3)).filter((line) => line.startsWith("account")),
      ["account 1 0", "account 1 0", "account 1 1000"],
    );
    const lifecycle = clients.clientFor("node-lifecycle-controller");
    assert.notEqual(lifecycle, ipam);
    assert.deepEqual(await ask(lifecycle, 2), ["account 1 60000", "account 1 60000"]);
    assert.deepEqual(opened, [`itself at ${SERVER}`, `account 1 at ${SERVER}`]);
    clients[Symbol.dispose]();
    assert.deepEqual(ended, ["itself", "account 1"]);
  });
});
