/** The store's contract against a real etcd of one member. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { ETCD_VALUE_BYTES_MAX } from "#store/contract.ts";
import { describeStore } from "#store/testing/contract-suite.ts";
import { walk } from "#store/testing/random-walk.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { type EtcdCluster, startEtcd } from "./etcd-cluster.ts";
import { openWhenReady } from "./open-etcd.ts";

const missing = missingProgram("etcd");
let cluster: EtcdCluster;
let subjects = 0;

describe.skipIf(missing !== undefined)(`etcd${missing ? ` (${missing})` : ""}`, () => {
  beforeAll(async () => {
    cluster = await startEtcd();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  for (const seed of [1, 2, 3]) {
    test(`random operations, seed ${seed}`, async () => {
      await using store = await openWhenReady(cluster.endpoints);
      const options = { random: seededRandom(seed), steps: 250, prefix: `/random-${seed}/` };
      await walk(store, options);
    });
  }

  describeStore("etcd", async () => {
    const store = await openWhenReady(cluster.endpoints);
    subjects += 1;
    return {
      store,
      prefix: `/test-${subjects}/`,
      valueBytesMax: ETCD_VALUE_BYTES_MAX,
      // etcd looks for leases that have ended twice a second.
      passTime: (durationMs) => sleep(durationMs < 2_000 ? durationMs : durationMs + 1_000),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  });
});
