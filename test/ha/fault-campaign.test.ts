/**
 * The short fault campaign: three etcd members, two API servers, each killed and frozen in turn while
 * counters count through both servers. K8TS_CAMPAIGN_ROUNDS makes it longer; the report goes to stdout.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram } from "../built-program.ts";
import { startEtcd } from "../store/etcd-cluster.ts";
import { startApiServers } from "./api-servers.ts";
import {
  type Counter,
  currentVersion,
  newCounter,
  runCounter,
  runWatcher,
  type Seen,
} from "./counters.ts";

const missing = missingProgram("etcd");
const ROUNDS = Number(process.env.K8TS_CAMPAIGN_ROUNDS ?? "1");
const REPORTS = process.env.K8TS_CAMPAIGN_ROUNDS !== undefined;
const TIME = { timeout: 240_000 * ROUNDS };
const COUNTERS = 4;
/** Acknowledged writes of every counter before the next fault. */
const PROGRESS = 5;

describe.skipIf(missing !== undefined)(`HA${missing ? ` (${missing})` : ""}`, TIME, () => {
  beforeAll(() => buildProgram());

  test("kill -9 and SIGSTOP of etcd members and API servers lose, repeat and hide nothing", async () => {
    await using etcd = await startEtcd({ members: 3 });
    await using servers = await startApiServers(2, etcd.endpoints);
    const life = new AbortController();
    const { places, token } = servers;
    const counters = Array.from({ length: COUNTERS }, (_, at) => newCounter(`counter-${at}`));
    const faults: string[] = [];
    const watched: Seen[] = [new Map(), new Map()];
    const from = await currentVersion(places[0]!);
    const running = [
      ...counters.map((counter) => runCounter(counter, places, life.signal)),
      runWatcher(places, token, from, watched[0]!, faults, life.signal),
      runWatcher(places.toReversed(), token, from, watched[1]!, faults, life.signal),
    ];
    const during = async (what: string, begin: () => unknown, end: () => unknown) => {
      // A server that was started again has no changes from before: the watches are past them.
      await caughtUp(watched, counters);
      for (const counter of counters) counter.longestGapMs = 0;
      await begin();
      await progress(counters, what);
      await end();
      await progress(counters, `after ${what}`);
      const gapMs = Math.max(...counters.map(({ longestGapMs }) => longestGapMs));
      if (REPORTS) process.stdout.write(`${what}: no write for ${Math.round(gapMs)} ms\n`);
    };
    const campaign = async (): Promise<void> => {
      await progress(counters, "the beginning");
      for (let round = 0; round < ROUNDS; round++) {
        for (const member of [0, 1, 2]) {
          const [kill, start] = [() => etcd.kill(member), () => etcd.start(member)];
          await during(`kill -9 of etcd ${member}`, kill, start);
        }
        const frozen = round % 3;
        await during(
          `SIGSTOP of etcd ${frozen}`,
          () => etcd.freeze(frozen),
          () => etcd.thaw(frozen),
        );
        for (const server of [0, 1]) {
          const [kill, start] = [() => servers.kill(server), () => servers.start(server)];
          await during(`kill -9 of API server ${server}`, kill, start);
        }
        await during(
          "SIGSTOP of API server 0",
          () => servers.freeze(0),
          () => servers.thaw(0),
        );
      }
      await caughtUp(watched, counters);
    };
    await campaign().finally(() => {
      life.abort();
      return Promise.all(running);
    });

    assert.deepEqual([...faults, ...counters.flatMap((counter) => counter.faults)], []);
    for (const seen of watched) {
      for (const { name } of counters) {
        const values = seen.get(name) ?? [];
        const all = Array.from({ length: values.length }, (_, at) => at + 1);
        assert.deepEqual(values, all, `${name}: every value once, in order`);
      }
    }
  });
});

/** Waits until the watches have seen what is known now. */
async function caughtUp(watched: readonly Seen[], counters: readonly Counter[]): Promise<void> {
  const wanted = counters.map(({ name, known }) => ({ name, known }));
  await eventually(
    () =>
      watched.every((seen) =>
        wanted.every(({ name, known }) => (seen.get(name)?.at(-1) ?? 0) >= known),
      ),
    () => `the watches have not seen ${JSON.stringify(wanted)}`,
  );
}

/** Waits until every counter has gone on. */
async function progress(counters: readonly Counter[], during: string): Promise<void> {
  const wanted = counters.map(({ acknowledged }) => acknowledged + PROGRESS);
  await eventually(
    () => counters.every(({ acknowledged }, at) => acknowledged >= wanted[at]!),
    () => `no progress during ${during}: ${JSON.stringify(counters)}`,
  );
}

async function eventually(isSo: () => boolean, otherwise: () => string): Promise<void> {
  const untilMs = performance.now() + 90_000;
  while (!isSo()) {
    if (performance.now() > untilMs) throw new Error(otherwise());
    await sleep(20);
  }
}
