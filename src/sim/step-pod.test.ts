import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { build } from "#testing/build.ts";
import { type Behaviour, DEFAULT_BEHAVIOUR } from "./behaviour.ts";
import { restoredState } from "./pod-state.ts";
import { type Step, stepPod } from "./step-pod.ts";

const START_MS = Date.parse("2030-01-01T00:00:00Z");

/** A pod that is stepped at several times, each step seeing the status of the one before. */
class Story {
  pod: Pod;
  step: Step | undefined;
  readonly #behaviour: Behaviour;

  constructor(behaviour: Partial<Behaviour>, spec: object = {}, metadata: object = {}) {
    this.#behaviour = { ...DEFAULT_BEHAVIOUR, ...behaviour };
    const containers = [{ name: "main", image: "web" }];
    this.pod = build(podKind, {
      metadata: { name: "p", namespace: "default", uid: "0-1", ...metadata },
      spec: { nodeName: "sim-0", restartPolicy: "Always", containers, ...spec },
      status: { phase: "Pending" },
    });
  }

  at(seconds: number, change: (pod: Pod) => Pod = (pod) => pod): Step {
    this.pod = change(this.pod);
    const nowMs = START_MS + seconds * 1000;
    this.step = stepPod({
      pod: this.pod,
      state: this.step?.state ?? restoredState(this.pod, nowMs),
      behaviour: this.#behaviour,
      hostIps: ["127.1.0.1"],
      podIps: ["10.0.0.1"],
      nowMs,
    });
    this.pod = { ...this.pod, status: this.step.status };
    return this.step;
  }

  /** The simulation starts anew: only the object is left. */
  forget(): void {
    this.step = undefined;
  }

  get wakeSeconds(): number | undefined {
    const atMs = this.step?.wakeAtMs;
    return atMs === undefined ? undefined : (atMs - START_MS) / 1000;
  }

  get main() {
    return this.pod.status.containerStatuses?.[0];
  }

  get ready(): string | undefined {
    return this.pod.status.conditions?.find(({ type }) => type === "Ready")?.status;
  }
}

test("simulated pod: by default it is Running and Ready in one step, with its address", () => {
  const story = new Story({});
  story.at(0);
  assert.equal(story.pod.status.phase, "Running");
  assert.equal(story.pod.status.podIP, "10.0.0.1");
  assert.equal(story.ready, "True");
  assert.equal(story.wakeSeconds, undefined);
  assert.match(story.main?.containerID ?? "", /^simulated:\/\/[0-9a-f]{64}$/);
});

test("simulated pod: start-delay keeps it Pending with ContainerCreating", () => {
  const story = new Story({ startDelayMs: 5_000 });
  story.at(0);
  assert.equal(story.pod.status.phase, "Pending");
  assert.equal(story.main?.state.waiting?.reason, "ContainerCreating");
  assert.equal(story.wakeSeconds, 5);
  story.at(5);
  assert.equal(story.pod.status.phase, "Running");
});

test("simulated pod: ready-delay, and initialDelaySeconds of a readiness probe", () => {
  const story = new Story({ readyDelayMs: 2_000 });
  story.at(0);
  assert.deepEqual([story.ready, story.wakeSeconds], ["False", 2]);
  story.at(2);
  assert.equal(story.ready, "True");
  const readinessProbe = { initialDelaySeconds: 7 };
  const probed = new Story({}, { containers: [{ name: "main", image: "web", readinessProbe }] });
  probed.at(0);
  assert.deepEqual([probed.ready, probed.wakeSeconds], ["False", 7]);
  const never = new Story({ ready: false });
  never.at(0);
  assert.deepEqual([never.ready, never.wakeSeconds], ["False", undefined]);
});

test("simulated pod: restartPolicy Never ends as Succeeded or Failed by its exit code", () => {
  for (const [exitCode, phase] of [
    [0, "Succeeded"],
    [3, "Failed"],
  ] as const) {
    const story = new Story({ runMs: 10_000, exitCode }, { restartPolicy: "Never" });
    story.at(0);
    assert.equal(story.wakeSeconds, 10);
    story.at(10);
    assert.equal(story.pod.status.phase, phase);
    assert.equal(story.main?.state.terminated?.exitCode, exitCode);
  }
});

test("simulated pod: a container that crashes is restarted with the kubelet's back-off", () => {
  const story = new Story({ runMs: 1_000, exitCode: 1 });
  story.at(0);
  story.at(1);
  assert.equal(story.main?.restartCount, 1, "the first restart is immediate");
  story.at(2);
  assert.equal(story.main?.state.waiting?.reason, "CrashLoopBackOff");
  assert.match(story.main?.state.waiting?.message ?? "", /^back-off 10s restarting/);
  assert.equal(story.main?.lastState.terminated?.exitCode, 1);
  assert.equal(story.wakeSeconds, 12);
  story.at(12);
  assert.equal(story.main?.restartCount, 2);
});

test("simulated pod: init containers run before the regular ones", () => {
  const story = new Story({ initRunMs: 4_000 }, { initContainers: [{ name: "i", image: "i" }] });
  story.at(0);
  assert.equal(story.pod.status.phase, "Pending");
  assert.equal(story.main?.state.waiting?.reason, "PodInitializing");
  assert.equal(story.wakeSeconds, 4);
  story.at(4);
  assert.equal(story.pod.status.phase, "Running");
});

test("simulated pod: deletion ends it after stop-delay, at the latest after the grace period", () => {
  const deleted = (pod: Pod): Pod => ({
    ...pod,
    metadata: {
      ...pod.metadata,
      deletionTimestamp: timeFromMs(START_MS),
      deletionGracePeriodSeconds: 30,
    },
  });
  for (const [stopDelayMs, endSeconds, exitCode] of [
    [5_000, 6, 0],
    [60_000, 31, 137],
  ] as const) {
    const story = new Story({ stopDelayMs });
    story.at(0);
    const step = story.at(1, deleted);
    assert.deepEqual([step.isGone, story.wakeSeconds], [false, endSeconds]);
    assert.equal(story.at(endSeconds).isGone, true);
    assert.equal(story.main?.state.terminated?.exitCode, exitCode);
  }
});

test("simulated pod: activeDeadlineSeconds fails the pod with DeadlineExceeded", () => {
  const story = new Story({}, { activeDeadlineSeconds: 20 });
  story.at(0);
  assert.equal(story.wakeSeconds, 20);
  story.at(20);
  assert.equal(story.pod.status.phase, "Failed");
  assert.equal(story.pod.status.reason, "DeadlineExceeded");
});

test("simulated pod: what runs goes on after a restart of the simulation", () => {
  const story = new Story({ runMs: 100_000 });
  story.at(0);
  const { containerID } = story.main ?? {};
  story.forget();
  const status = structuredClone(story.pod.status);
  story.at(50);
  assert.deepEqual(story.pod.status, status);
  assert.equal(story.main?.containerID, containerID);
  assert.equal(story.wakeSeconds, 100);
});
