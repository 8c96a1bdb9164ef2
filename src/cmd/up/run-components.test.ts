import assert from "node:assert/strict";
import { test } from "vitest";
import { untilAborted } from "#lib/async/aborted.ts";
import { deferred } from "#lib/async/deferred.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { ClusterContext, Component } from "./component.ts";
import { loadedComponent } from "./loaded-component.ts";
import { runComponents } from "./run-components.ts";
import { parseUpFlags } from "./up-flags.ts";

const unused = (): never => {
  throw new Error("not part of this test");
};
const CONTEXT: Omit<ClusterContext, "health"> = {
  flags: parseUpFlags(["--no-node"]),
  clock: new VirtualClock("2030-01-01T00:00:00Z"),
  random: seededRandom(1),
  logger: silentLogger,
  metrics: new Metrics(),
  hostname: "host",
  nodeSubnets: [],
  deciders: { scheduler: undefined, controllers: undefined },
  simulated: { usageOf: undefined },
  server: unused,
  transportAs: unused,
};

/** A component that writes into a log what happens to it. */
function logged(log: string[], name: string, needs: readonly string[] = []): Component {
  return {
    name,
    needs,
    run: (_cluster, signal) => {
      log.push(`start ${name}`);
      return {
        ready: Promise.resolve(),
        done: untilAborted(signal).then(() => void log.push(`stop ${name}`)),
      };
    },
  };
}

test("runComponents: components start after what they need and stop before it", async () => {
  const log: string[] = [];
  const life = new AbortController();
  const run = runComponents(
    [
      logged(log, "kubelet", ["apiserver"]),
      logged(log, "dns", ["kubelet"]),
      logged(log, "apiserver"),
    ],
    CONTEXT,
    life.signal,
  );
  await run.ready;
  assert.deepEqual(log.splice(0), ["start apiserver", "start kubelet", "start dns"]);
  life.abort();
  await run.done;
  assert.deepEqual(log, ["stop dns", "stop kubelet", "stop apiserver"]);
});

test("runComponents: a component that cannot start fails the start and ends the others", async () => {
  const log: string[] = [];
  const failing: Component = {
    name: "scheduler",
    needs: ["apiserver"],
    run: () => ({
      ready: Promise.reject(new Error("port in use")),
      done: Promise.resolve(),
    }),
  };
  const run = runComponents(
    [logged(log, "apiserver"), failing],
    CONTEXT,
    new AbortController().signal,
  );
  await assert.rejects(run.ready, /port in use/);
  await run.done;
  assert.deepEqual(log, ["start apiserver", "stop apiserver"]);
});

test("runComponents: a component that fails later ends the cluster with its error", async () => {
  const log: string[] = [];
  const broken = deferred<void>();
  const failing: Component = {
    name: "proxy",
    needs: ["apiserver"],
    run: () => ({ ready: Promise.resolve(), done: broken.promise }),
  };
  const run = runComponents(
    [logged(log, "apiserver"), failing],
    CONTEXT,
    new AbortController().signal,
  );
  await run.ready;
  assert.deepEqual(await run.health("proxy"), { well: true, message: "ok" });
  broken.reject(new Error("iptables is gone"));
  await assert.rejects(run.done, /iptables is gone/);
  assert.deepEqual(log, ["start apiserver", "stop apiserver"]);
});

test("runComponents: an end before they are ready stops what was started", async () => {
  const log: string[] = [];
  const slow: Component = {
    name: "slow",
    needs: [],
    run: (_cluster, signal) => ({ ready: new Promise(() => {}), done: untilAborted(signal) }),
  };
  const life = new AbortController();
  const run = runComponents([slow, logged(log, "after", ["slow"])], CONTEXT, life.signal);
  life.abort();
  await run.done;
  assert.deepEqual(log, []);
});

test("runComponents: a start that is aborted by the end of the cluster is no failure", async () => {
  const interrupted: Component = {
    name: "simulation",
    needs: [],
    run: (_cluster, signal) => ({
      ready: new Promise(() => {}),
      done: untilAborted(signal).then(() => signal.throwIfAborted()),
    }),
  };
  const life = new AbortController();
  const run = runComponents([interrupted], CONTEXT, life.signal);
  life.abort();
  await run.done;
});

test("runComponents: a missing or circular need is refused", () => {
  const { signal } = new AbortController();
  assert.throws(() => runComponents([logged([], "a", ["b"])], CONTEXT, signal), /a needs b/);
  assert.throws(
    () => runComponents([logged([], "a", ["b"]), logged([], "b", ["a"])], CONTEXT, signal),
    /need each other/,
  );
});

test("loadedComponent: its code is loaded when what it needs is ready, and its health is that of the code", async () => {
  const log: string[] = [];
  const life = new AbortController();
  const apiserver = logged(log, "apiserver");
  const scheduler = loadedComponent("scheduler", ["apiserver"], async () => {
    log.push("load scheduler");
    const { run } = logged(log, "scheduler");
    return (cluster, signal) => ({
      ...run(cluster, signal),
      healthy: async () => ({ well: false, message: "no lease" }),
    });
  });
  const run = runComponents([scheduler, apiserver], CONTEXT, life.signal);
  await run.ready;
  assert.deepEqual(log.splice(0), ["start apiserver", "load scheduler", "start scheduler"]);
  assert.deepEqual(await run.health("scheduler"), { well: false, message: "no lease" });
  life.abort();
  await run.done;
  assert.deepEqual(log, ["stop scheduler", "stop apiserver"]);
});

test("loadedComponent: code that cannot be loaded ends the cluster with the error", async () => {
  const log: string[] = [];
  const dns = loadedComponent("dns", ["apiserver"], () =>
    Promise.reject(new Error("no such file")),
  );
  const run = runComponents([logged(log, "apiserver"), dns], CONTEXT, new AbortController().signal);
  await assert.rejects(run.ready, /no such file/);
  await assert.rejects(run.done, /no such file/);
  assert.deepEqual(log, ["start apiserver", "stop apiserver"]);
});
