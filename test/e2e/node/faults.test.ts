/**
 * Faults around a real node: containerd killed, API server away, pods deleted while the kubelet is
 * away, too little room for a critical pod, a wall clock that jumps, a full disk. One machine for all,
 * in this order.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { NODE, type NodeCluster, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { BUSYBOX } from "./runtime.ts";

const LONG = { timeoutMs: 90_000, everyMs: 100 };
const FAKE_TIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
/** Two of them do not fit on the node. */
const LARGE = `${Math.ceil(availableParallelism() * 600)}m`;
let cluster: NodeCluster;

beforeAll(async () => {
  const why = missingProgram("faketime");
  if (why !== undefined) throw new Error(why);
  cluster = await startNodeCluster(
    (dir) => {
      const type = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
      const crashLoopBackOff = { maxContainerRestartPeriod: "1s" };
      writeFileSync(join(dir, "kubelet.json"), JSON.stringify({ ...type, crashLoopBackOff }));
      writeFileSync(join(dir, "clock"), "+0s\n");
      return ["--config", join(dir, "kubelet.json")];
    },
    {
      // The kubelet's wall clock is the machine's, moved by what the file says.
      env: (dir) => ({
        ...{ LD_PRELOAD: FAKE_TIME, FAKETIME_TIMESTAMP_FILE: join(dir, "clock") },
        ...{ FAKETIME_NO_CACHE: "1", FAKETIME_DONT_FAKE_MONOTONIC: "1" },
      }),
      // Volumes of pods lie on a disk that is soon full.
      prepare: async ({ dir, run }) => {
        await mkdir(join(dir, "kubelet"));
        await run("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", join(dir, "kubelet")]);
      },
    },
  );
  const probe = { exec: { command: ["true"] }, periodSeconds: 1, failureThreshold: 1 };
  const steady = { ...container(WAIT), livenessProbe: probe, readinessProbe: probe };
  await cluster.apply(
    pod("steady", { containers: [steady] }),
    pod("crashing", { containers: [container("sleep 0.3; exit 1")] }),
  );
  await until(() => isReady("steady"), LONG);
}, 300_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

test("containerd killed and back: the node is not Ready meanwhile, containers are not restarted", async () => {
  const before = await statusOf("steady");
  await cluster.runtime.kill();
  await until(async () => (await nodeReady()).status === "False", LONG);
  assert.match((await nodeReady()).message, /container runtime is down/);
  await cluster.runtime.start();
  await until(async () => (await nodeReady()).status === "True", LONG);
  await until(() => isReady("steady"), LONG);
  const after = await statusOf("steady");
  assert.deepEqual([after.containerID, after.restartCount], [before.containerID, 0]);
  const { restartCount } = await statusOf("crashing");
  await until(async () => (await statusOf("crashing")).restartCount > restartCount, LONG);
}, 120_000);

test("API server away for ten minutes and back: pods go on, what happened meanwhile is reported", async () => {
  await cluster.apply(...claimed(join(cluster.machine.dir, "claimed")));
  await until(async () => (await statusOf("claimed")).restartCount > 0, LONG);
  const before = await statusOf("steady");
  const { restartCount } = await statusOf("crashing");
  await cluster.killControlPlane();
  const seen = cluster.log().length;
  await until(() => cluster.log().slice(seen).includes("lease was not renewed"), LONG);
  await writeFile(join(cluster.machine.dir, "clock"), "+600s\n");
  // Restarted without an API server, with a claim too.
  for (const marker of ["sleep 0.3", "sleep 0.4"]) {
    const pids = async (): Promise<string> =>
      (await cluster.machine.run("pgrep", ["-f", marker])).stdout;
    for (let restart = 0; restart < 2; restart++) {
      const known = await pids();
      await until(async () => ![known, ""].includes(await pids()), LONG);
    }
  }
  await cluster.startControlPlane();
  await writeFile(join(cluster.machine.dir, "clock"), "+0s\n");
  await until(async () => (await statusOf("crashing")).restartCount > restartCount, LONG);
  await until(() => isReady("steady"), LONG);
  const after = await statusOf("steady");
  assert.deepEqual([after.containerID, after.restartCount], [before.containerID, 0]);
  await until(async () => (await nodeReady()).status === "True", LONG);
  await cluster.kubectl("delete", "pod", "claimed", "--grace-period=1");
}, 240_000);

test("a node that comes back: pods that were evicted and deleted meanwhile are stopped", async () => {
  const marker = "while :; do sleep 0.7; done";
  await cluster.apply(pod("evicted", { containers: [container(marker)] }));
  await until(async () => (await cluster.pod("evicted")).status.phase === "Running", LONG);
  await cluster.stopKubelet("SIGKILL");
  await cluster.kubectl("delete", "pod", "evicted", "--force", "--grace-period=0");
  const isRunning = async (): Promise<boolean> =>
    (await cluster.machine.run("pgrep", ["-f", marker])).exitCode === 0;
  assert.ok(await isRunning());
  const before = await statusOf("steady");
  cluster.startKubelet();
  await until(async () => !(await isRunning()), LONG);
  assert.deepEqual(
    (({ containerID, restartCount }) => [containerID, restartCount])(await statusOf("steady")),
    [before.containerID, 0],
  );
}, 120_000);

test("critical pod without room: another pod is preempted for it, with the reason Preempting", async () => {
  const sized = { ...container(WAIT), resources: { requests: { cpu: LARGE } } };
  await cluster.apply(pod("large", { containers: [sized] }));
  await until(() => isReady("large"), LONG);
  const priorityClassName = "system-node-critical";
  await cluster.apply(pod("critical", { priorityClassName, containers: [sized] }));
  await until(() => isReady("critical"), LONG);
  const { status } = await cluster.pod("large");
  assert.deepEqual(
    [status.phase, status.reason, status.message],
    ["Failed", "Preempting", "Preempted in order to admit critical pod"],
  );
}, 120_000);

describe.concurrent("clock and disk", () => {
  test("wall clock jumps forward and back: probes, leases and back-off go on, nothing is restarted", async () => {
    const before = await statusOf("steady");
    for (const offset of ["+7200s", "-600s", "+0s"]) {
      const { restartCount } = await statusOf("crashing");
      const renewed = await renewTime();
      await writeFile(join(cluster.machine.dir, "clock"), `${offset}\n`);
      await until(async () => (await statusOf("crashing")).restartCount > restartCount + 1, LONG);
      if (offset === "+7200s") await until(async () => (await renewTime()) !== renewed, LONG);
    }
    await until(() => isReady("steady"), LONG);
    const after = await statusOf("steady");
    assert.deepEqual([after.containerID, after.restartCount], [before.containerID, 0]);
  }, 180_000);

  test("full disk: DiskPressure, the pod that fills it is Evicted, the next one is refused", async () => {
    const filler = {
      ...container("dd if=/dev/zero of=/data/file bs=1048576 count=60; sleep 1000"),
      volumeMounts: [{ name: "data", mountPath: "/data" }],
    };
    await cluster.apply(
      pod("filler", { containers: [filler], volumes: [{ name: "data", emptyDir: {} }] }),
    );
    await until(async () => (await cluster.pod("filler")).status.phase === "Failed", LONG);
    const { status } = await cluster.pod("filler");
    assert.equal(status.reason, "Evicted");
    assert.match(status.message ?? "", /^The node was low on resource: ephemeral-storage\./);
    await cluster.apply(pod("late", { containers: [container(WAIT)] }));
    await until(async () => (await cluster.pod("late")).status.phase === "Failed", LONG);
    const late = await cluster.pod("late");
    assert.equal(late.status.message, "Pod was rejected: The node had condition: [DiskPressure]. ");
  }, 180_000);
});

const WAIT = "trap 'exit 0' TERM; while :; do sleep 1; done";

async function statusOf(name: string) {
  const [main] = (await cluster.pod(name)).status.containerStatuses ?? [];
  assert.ok(main !== undefined, `${name} has no container status`);
  return main;
}

async function isReady(name: string): Promise<boolean> {
  return (await cluster.pod(name)).status.containerStatuses?.[0]?.ready ?? false;
}

async function nodeReady(): Promise<{ readonly status: string; readonly message: string }> {
  const node = JSON.parse(await cluster.kubectl("get", "node", NODE, "-o", "json")) as {
    status: { conditions: { type: string; status: string; message: string }[] };
  };
  return node.status.conditions.find(({ type }) => type === "Ready")!;
}

function renewTime(): Promise<string> {
  const lease = ["get", "lease", "-n", "kube-node-lease", NODE];
  return cluster.kubectl(...lease, "-o", "jsonpath={.spec.renewTime}");
}

function container(script: string): Record<string, unknown> {
  return { name: "main", image: BUSYBOX, imagePullPolicy: "Never", command: ["sh", "-c", script] };
}

/** A pod with a claim whose container keeps ending. */
function claimed(path: string): object[] {
  const capacity = { storage: "1Mi" };
  const volume = { accessModes: ["ReadWriteOnce"], storageClassName: "" };
  const mounted = {
    ...container("touch /data/seen && sleep 0.4; exit 1"),
    volumeMounts: [{ name: "data", mountPath: "/data" }],
  };
  return [
    {
      ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name: "claimed" } },
      spec: { ...volume, capacity, hostPath: { path, type: "DirectoryOrCreate" } },
    },
    {
      ...{ apiVersion: "v1", kind: "PersistentVolumeClaim" },
      metadata: { name: "claimed", namespace: "default" },
      spec: { ...volume, volumeName: "claimed", resources: { requests: capacity } },
    },
    pod("claimed", {
      containers: [mounted],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "claimed" } }],
    }),
  ];
}

function pod(name: string, spec: object): object {
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" } },
    spec: { nodeName: NODE, terminationGracePeriodSeconds: 1, ...spec },
  };
}
