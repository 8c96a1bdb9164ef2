import assert from "node:assert/strict";
import { test } from "vitest";
import type { Logind } from "#host/logind.ts";
import { deferred } from "#lib/async/deferred.ts";
import { silentLogger } from "#lib/logger.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { runShutdownWatch } from "./shutdown-watch.ts";

function worldOf(overrides: Partial<Logind> = {}) {
  const steps: string[] = [];
  const end = deferred<void>();
  let announce: (isShuttingDown: boolean) => void = () => undefined;
  let delayMs = 5_000;
  let delayToBe = 5_000;
  const logind: Logind = {
    connect: async () => undefined,
    inhibitDelayMs: async () => delayMs,
    writeInhibitDelay: async (ms) => {
      steps.push(`delay ${ms}`);
      delayToBe = ms;
    },
    reload: async () => {
      delayMs = delayToBe;
    },
    inhibit: async () => {
      steps.push("lock");
      return { [Symbol.dispose]: () => void steps.push("release") };
    },
    watch: (onShutdown) => {
      announce = onShutdown;
      return { started: Promise.resolve(), ended: end.promise };
    },
    ...overrides,
  };
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (message: string) => void errors.push(message) };
  const shutdown = {
    periodMs: 30_000,
    shutDown: async () => void steps.push("pods end"),
    cancel: () => void steps.push("cancelled"),
  };
  const clock = new VirtualClock(0);
  const life = new AbortController();
  const run = runShutdownWatch({ logind, shutdown, clock, logger }, life.signal);
  return { steps, errors, run, life, end, announce: (is: boolean) => announce(is) };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("shutdownGracePeriod: the inhibitor lock is held until the pods have ended, and taken again after a cancellation", async () => {
  const world = worldOf();
  await settled();
  assert.deepEqual(world.steps, ["delay 30000", "lock"]);
  world.announce(true);
  await settled();
  assert.deepEqual(world.steps.slice(2), ["pods end", "release"]);
  world.announce(false);
  await settled();
  assert.deepEqual(world.steps.slice(4), ["cancelled", "lock"]);
  world.life.abort();
  world.end.resolve();
  await world.run;
  assert.equal(world.steps.at(-1), "release");
});

test("shutdownGracePeriod: a machine without a system bus is logged once and left alone", async () => {
  const world = worldOf({ connect: () => Promise.reject(new Error("no bus")) });
  await world.run;
  assert.deepEqual(world.errors, ["Failed to start node shutdown manager"]);
  assert.deepEqual(world.steps, []);
});
