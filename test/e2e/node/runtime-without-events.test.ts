/**
 * A node whose container runtime has no container events: the kubelet lists containers every second.
 * The runtime is containerd behind a front that hides its events.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type ContainerView, NODE, type NodeCluster, startNodeCluster } from "./cluster.ts";
import { type CriFront, type EventsAnswer, startCriFront } from "./cri-front.ts";
import { until } from "./eventually.ts";
import { BUSYBOX } from "./runtime.ts";

const LONG = { timeoutMs: 60_000, everyMs: 50 };
const IDLE_MS = 10_000;
const WAIT = "trap 'exit 0' TERM; while :; do sleep 1000 & wait $!; done";

const ANSWERS: readonly { readonly name: string; readonly answer: EventsAnswer }[] = [
  { name: "GetContainerEvents is UNIMPLEMENTED", answer: "UNIMPLEMENTED" },
  { name: "GetContainerEvents ends at once with OK, as CRI-O's", answer: "OK" },
];

describe.each(ANSWERS)("container runtime without events: $name", ({ answer }) => {
  let cluster: NodeCluster;
  let front: CriFront;

  beforeAll(async () => {
    cluster = await startNodeCluster(
      (dir) => {
        const type = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
        const crashLoopBackOff = { maxContainerRestartPeriod: "1s" };
        writeFileSync(join(dir, "kubelet.json"), JSON.stringify({ ...type, crashLoopBackOff }));
        return [
          ...["--config", join(dir, "kubelet.json")],
          ...["--container-runtime-endpoint", `unix://${join(dir, "front.sock")}`],
        ];
      },
      {
        prepare: async ({ dir }) => {
          const runtimeSocket = join(dir, "run/containerd.sock");
          front = await startCriFront(join(dir, "front.sock"), runtimeSocket, answer);
        },
      },
    );
  }, 300_000);

  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await front?.[Symbol.asyncDispose]();
  });

  test("pods start, and one whose container exits with 0 becomes Succeeded", async () => {
    await cluster.apply(pod("steady", WAIT), pod("once", "sleep 2", { restartPolicy: "Never" }));
    await until(async () => (await phase("steady")) === "Running", LONG);
    await until(async () => (await phase("once")) === "Succeeded", LONG);
    const { state } = await statusOf("once");
    assert.deepEqual([state.terminated?.exitCode, state.terminated?.reason], [0, "Completed"]);
  }, 90_000);

  test("a container that is killed is noticed in about a second and restarted", async () => {
    const noticedMs: number[] = [];
    for (let round = 0; round < 3; round++) {
      const { restartCount } = await statusOf("steady");
      const startMs = performance.now();
      await killFirstProcess("steady");
      await until(async () => {
        const { state, ...now } = await statusOf("steady");
        return state.running === undefined || now.restartCount > restartCount;
      }, LONG);
      noticedMs.push(performance.now() - startMs);
      await until(async () => (await statusOf("steady")).restartCount > restartCount, LONG);
      await until(async () => (await statusOf("steady")).ready, LONG);
    }
    // The best of three, since the machine may be busy.
    assert.ok(Math.min(...noticedMs) < 2_000, `noticed after ${noticedMs.map(Math.round)} ms`);
    const { lastState } = await statusOf("steady");
    assert.equal(lastState.terminated?.exitCode, 137);
  }, 120_000);

  test("a pod that is deleted is gone from the API and from the runtime", async () => {
    await cluster.apply(pod("deleted", WAIT));
    await until(async () => (await phase("deleted")) === "Running", LONG);
    await cluster.kubectl("delete", "pod", "deleted", "--wait=true", "--timeout=20s");
    const left = await cluster.machine.run("pgrep", ["-f", "pod-deleted"]);
    assert.equal(left.stdout, "");
  }, 90_000);

  test("idle: two lists a second and hardly any other CRI call", async () => {
    const before = front.calls();
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    const calls = new Map(
      [...front.calls()].map(([name, count]) => [name, count - (before.get(name) ?? 0)]),
    );
    const lists = (calls.get("ListContainers") ?? 0) + (calls.get("ListPodSandbox") ?? 0);
    const all = [...calls.values()].reduce((sum, count) => sum + count, 0);
    const shown = JSON.stringify([...calls].filter(([, count]) => count > 0));
    assert.ok(lists >= 12 && lists <= 24, shown);
    assert.ok(all - lists <= 10, shown);
  }, 60_000);

  test("runtime away and back: what ended meanwhile is noticed", async () => {
    const before = await statusOf("steady");
    await cluster.runtime.kill();
    await killFirstProcess("steady");
    await cluster.runtime.start();
    await until(async () => (await statusOf("steady")).restartCount > before.restartCount, LONG);
    await until(async () => (await statusOf("steady")).ready, LONG);
  }, 120_000);

  async function phase(name: string): Promise<string> {
    return (await cluster.pod(name)).status.phase;
  }

  async function statusOf(name: string): Promise<ContainerView> {
    return (await cluster.pod(name)).status.containerStatuses![0]!;
  }

  /** Kills the shell of the container with kill(1), without a call to the runtime. */
  async function killFirstProcess(name: string): Promise<void> {
    const { stdout } = await cluster.machine.run("pgrep", ["-f", `^sh -c : pod-${name};`]);
    await cluster.machine.run("kill", ["-KILL", stdout.trim()]);
  }
});

/** `script` runs in a shell whose command line has the pod's name. */
function pod(name: string, script: string, spec: object = {}): object {
  const command = ["sh", "-c", `: pod-${name}; ${script}`];
  const container = { name: "main", image: BUSYBOX, imagePullPolicy: "Never", command };
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" } },
    spec: { nodeName: NODE, terminationGracePeriodSeconds: 5, ...spec, containers: [container] },
  };
}
