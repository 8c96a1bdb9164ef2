/** Log lines of clients: waiting for a lease in leader election, failures of informers. */
import assert from "node:assert/strict";
import { test } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { type Fields, type Logger, silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { startCluster } from "#testing/cluster.ts";
import { Client } from "./client.ts";
import { Informer } from "./informer.ts";
import { runLeaderElection } from "./leader-election.ts";
import { type Transport, TransportError } from "./transport.ts";

const random = seededRandom(1);

test("leader election: who stands by says once for whom it waits", async () => {
  await using cluster = await startCluster();
  const { client, clock } = cluster;
  const end = new AbortController();
  const { lines, logger } = remembering();
  const elect = (identity: string): Promise<void> =>
    runLeaderElection(
      { client, clock, random, logger, namespace: "kube-system", name: "boss", identity },
      (signal) => clock.sleep(1e9, signal).catch(() => undefined),
      end.signal,
    );
  const first = elect("a");
  await cluster.advance(1_000);
  const second = elect("b");
  await cluster.advance(60_000);
  const waiting = lines.filter(({ message }) => message === "waiting for the lease");
  assert.deepEqual(
    waiting.map(({ fields }) => fields),
    [{ lease: "boss", holder: "a", identity: "b" }],
  );
  end.abort();
  await Promise.all([first, second]);
});

test("informer: a failed watch is logged at once, then every 30 s at most", async () => {
  await using cluster = await startCluster();
  const { clock } = cluster;
  const { lines, logger } = remembering();
  const broken: Transport = {
    ...cluster.transport,
    watch: () => {
      throw new TransportError("connection refused");
    },
  };
  const client = new Client({ transport: broken, clock, random, fieldManager: "test" });
  const informer = new Informer({ client, kind: configMapKind, clock, random, logger });
  const end = new AbortController();
  const running = informer.run(end.signal);
  await cluster.advance(100);
  const warnings = () => lines.filter(({ level }) => level === "warn");
  assert.equal(warnings().length, 1);
  assert.equal(warnings()[0]?.message, "list and watch failed");
  assert.equal(warnings()[0]?.fields.error, "connection refused");
  await cluster.advance(120_000);
  assert.ok(
    warnings().length >= 2 && warnings().length <= 5,
    `${warnings().length} lines in two minutes`,
  );
  end.abort();
  await running;
});

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: Fields;
}

function remembering(): { lines: Line[]; logger: Logger } {
  const lines: Line[] = [];
  const at =
    (level: string) =>
    (message: string, fields: Fields = {}): void =>
      void lines.push({ level, message, fields });
  const logger = { ...silentLogger, info: at("info"), warn: at("warn"), debug: at("debug") };
  return { lines, logger };
}
