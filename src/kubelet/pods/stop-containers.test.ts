import assert from "node:assert/strict";
import { expect, test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { ContainerRun } from "#kubelet/decide/pod-runtime.ts";
import { silentLogger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { build } from "#testing/build.ts";
import { stopContainer } from "./stop-containers.ts";

const GRACE_SECONDS = 30;
const RUN: ContainerRun = {
  ...{ id: "1", sandboxId: "s", name: "main", state: "running", reason: "", message: "", hash: "" },
  ...{ createdMs: 0, startedMs: 0, finishedMs: 0, exitCode: 0, restartCount: 0 },
  ...{ image: "", imageId: "" },
};

/** Virtual time that also passes a little with every look at it, as real time does. */
function passingClock(virtual: VirtualClock): Clock {
  let looks = 0;
  return {
    nowMs: () => virtual.nowMs(),
    elapsedMs: () => virtual.elapsedMs() + looks++ / 10,
    schedule: (delayMs, task) => virtual.schedule(delayMs, task),
    sleep: (delayMs, signal) => virtual.sleep(delayMs, signal),
  };
}

async function stopped(preStopSeconds: number): Promise<{ afterMs: number; timeout: number }> {
  using virtual = new VirtualClock();
  const container = {
    name: "main",
    image: "main",
    resources: {},
    lifecycle: { preStop: { sleep: { seconds: preStopSeconds } } },
  };
  const pod = build(podKind, { metadata: { name: "web" }, spec: { containers: [container] } });
  let stop: { afterMs: number; timeout: number } | undefined;
  const tools = {
    ...{ clock: passingClock(virtual), logger: silentLogger },
    events: { pod: () => undefined, container: () => undefined },
    runtime: {
      execSync: () => expect.unreachable("the hook is not a command"),
      stopContainer: async ({ timeout = 0 }: { timeout?: number | undefined }) => {
        stop = { afterMs: virtual.elapsedMs(), timeout };
        return {};
      },
    },
  };
  const stopping = {
    ...{ pod, run: RUN, container },
    ...{ graceSeconds: GRACE_SECONDS, podIp: undefined, isRepeat: false },
  };
  const done = stopContainer(stopping, tools, new AbortController().signal);
  await virtual.advance(60_000);
  await done;
  assert.ok(stop !== undefined);
  return { ...stop, afterMs: Math.round(stop.afterMs) };
}

test("preStop sleep longer than the grace period: it has the whole grace period, then the container gets 2 s", async () => {
  assert.deepEqual(await stopped(50), { afterMs: 30_000, timeout: 2 });
});

test("preStop sleep within the grace period: the stop signal has the seconds that are left", async () => {
  assert.deepEqual(await stopped(10), { afterMs: 10_000, timeout: 20 });
});
