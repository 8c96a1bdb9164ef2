/**
 * Random operations compared with a model. Each walk has a seed, named in the test: to repeat one,
 * set K8TS_SEED. K8TS_NIGHTLY=1 walks further.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { openEmbeddedStore } from "./embedded.ts";
import { createMemoryStore, type MemoryStore } from "./memory.ts";
import { walk } from "./testing/random-walk.ts";

const seeds = process.env.K8TS_SEED
  ? [Number(process.env.K8TS_SEED)]
  : Array.from({ length: process.env.K8TS_NIGHTLY === "1" ? 500 : 25 }, (_, index) => index + 1);

/** For hundreds of flushes of a disk that may be slow, one after the other. */
const TIME = { timeout: 120_000 };

describe("random operations agree with a model of the store", TIME, () => {
  for (const seed of seeds) {
    test(`memory store, seed ${seed}`, async () => {
      using clock = new VirtualClock();
      let current = createMemoryStore({ clock });
      await walk(current, {
        random: seededRandom(seed),
        steps: 400,
        prefix: "/t/",
        async disturb(store) {
          current = (store as MemoryStore).fork();
          await store.put("/t/only-in-the-old-one", new Uint8Array());
          await store[Symbol.asyncDispose]();
          return current;
        },
      });
      await current[Symbol.asyncDispose]();
    });
  }

  for (const seed of seeds.slice(0, Math.ceil(seeds.length / 3))) {
    test(`embedded store, seed ${seed}`, async () => {
      const directory = await mkdtemp(join(tmpdir(), "k8ts-random-"));
      using clock = new VirtualClock();
      let current = await openEmbeddedStore({ directory, clock });
      await walk(current, {
        random: seededRandom(seed),
        steps: 300,
        prefix: "/t/",
        async disturb(store) {
          await store[Symbol.asyncDispose]();
          current = await openEmbeddedStore({ directory, clock });
          return current;
        },
      });
      await current[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    });
  }
});
