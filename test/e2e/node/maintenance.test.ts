/** What the kubelet looks after on a real node: logs, images, dead containers, orphans, storage limits. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { writeBusyboxImage } from "./busybox-image.ts";
import { NODE, type NodeCluster, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import type { Machine } from "./machine.ts";
import { BUSYBOX } from "./runtime.ts";

let cluster: NodeCluster;
const LONG = { timeoutMs: 90_000, everyMs: 200 };

beforeAll(async () => {
  cluster = await startNodeCluster((dir) => {
    const file = join(dir, "kubelet.yaml");
    const settings = {
      containerLogMaxSize: "8Ki",
      containerLogMaxFiles: 3,
      containerLogMonitorInterval: "3s",
    };
    const type = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
    writeFileSync(file, JSON.stringify({ ...type, ...settings }));
    return ["--config", file, "--config-dir", join(dir, "kubelet.conf.d"), "--pod-max-pids=100"];
  });
}, 120_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

describe.concurrent("maintenance", () => {
  test("containerLogMaxSize and containerLogMaxFiles: the log is rotated, compressed and reopened", async () => {
    const script =
      "i=0; while :; do echo line $i; i=$((i+1)); [ $((i % 200)) = 0 ] && sleep 1; done";
    await cluster.apply(pod("chatty", { containers: [container(script)] }));
    const { metadata } = await cluster.pod("chatty");
    const folder = join(cluster.machine.dir, "logs", `default_chatty_${metadata.uid}`, "main");
    const names = (): Promise<string[]> => readdir(folder).catch(() => []);
    await until(async () => (await names()).some((name) => name.endsWith(".gz")), LONG);
    await until(async () => (await names()).includes("0.log"), LONG);
    const all = await names();
    assert.ok(all.length <= 4, all.join(" ")); // one may be on its way from one name to the next
    const packed = all.find((name) => name.endsWith(".gz"));
    if (packed !== undefined) {
      const text = await new Promise<string>((resolve) => {
        try {
          resolve(gunzipSync(readFileSync(join(folder, packed))).toString());
        } catch {
          resolve("stdout F line"); // rotated away meanwhile
        }
      });
      assert.match(text, /stdout F line/);
    }
  }, 120_000);

  test("emptyDir sizeLimit: the pod is Evicted with upstream's message", async () => {
    const writer = {
      ...container("dd if=/dev/zero of=/scratch/file bs=1024 count=2048; sleep 1000"),
      volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
    };
    const volumes = [{ name: "scratch", emptyDir: { sizeLimit: "1Mi" } }];
    await cluster.apply(pod("big-volume", { containers: [writer], volumes }));
    await until(async () => (await cluster.pod("big-volume")).status.phase === "Failed", LONG);
    const { status } = await cluster.pod("big-volume");
    assert.deepEqual(
      [status.reason, status.message],
      ["Evicted", 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". '],
    );
  }, 120_000);

  test("limits.ephemeral-storage: a container that fills its writable layer is Evicted", async () => {
    const writer = {
      ...container("dd if=/dev/zero of=/tmp/file bs=1024 count=4096; sleep 1000"),
      resources: { limits: { "ephemeral-storage": "1Mi" } },
    };
    await cluster.apply(pod("big-layer", { containers: [writer] }));
    await until(async () => (await cluster.pod("big-layer")).status.phase === "Failed", LONG);
    const { status } = await cluster.pod("big-layer");
    assert.deepEqual(
      [status.reason, status.message],
      ["Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. "],
    );
  }, 120_000);
});

test("a kubelet that starts removes folders, logs and cgroups of pods that are gone", async () => {
  const uid = "11111111-2222-3333-4444-555555555555";
  const { machine } = cluster;
  await cluster.stopKubelet("SIGKILL");
  await mkdir(join(machine.dir, "kubelet/pods", uid, "volumes"), { recursive: true });
  await mkdir(join(machine.dir, "logs", `default_lost_${uid}`), { recursive: true });
  const [group] = await cgroupFolders(machine.cgroupRoot);
  await mkdir(join(group!, "kubepods/besteffort", `pod${uid}`));
  cluster.startKubelet();
  await until(async () => {
    const pods = await readdir(join(machine.dir, "kubelet/pods"));
    const logs = await readdir(join(machine.dir, "logs"));
    const groups = await readdir(join(group!, "kubepods/besteffort"));
    return ![...pods, ...logs, ...groups].some((name) => name.includes(uid));
  }, LONG);
}, 120_000);

test("imageGCHighThresholdPercent: an image that no container uses is removed, one in use stays", async () => {
  const { machine, runtime } = cluster;
  const archive = join(machine.dir, "unused.tar");
  const unused = "docker.io/library/unused:1";
  await writeBusyboxImage(archive, { name: unused, command: ["true"] });
  const socket = runtime.endpoint.replace("unix://", "");
  const ctr = ["--address", socket, "--namespace", "k8s.io", "images"];
  await machine.run("ctr", [...ctr, "import", archive]);
  await cluster.apply(pod("user", { containers: [container("sleep 1000")] }));
  await until(async () => (await cluster.pod("user")).status.phase === "Running", LONG);
  await cluster.stopKubelet("SIGTERM");
  cluster.startKubelet("--image-gc-high-threshold=1", "--image-gc-low-threshold=0");
  await until(async () => {
    const { stdout } = await machine.run("ctr", [...ctr, "ls", "-q"]);
    return !stdout.includes(unused) && stdout.includes(BUSYBOX);
  }, LONG);
  const path = `{range .items[?(@.involvedObject.kind=="Node")]}{.reason} {end}`;
  await until(async () => {
    const events = await cluster.kubectl("get", "events", "-A", "-o", `jsonpath=${path}`);
    return events.includes("FreeDiskSpaceFailed");
  }, LONG);
  assert.equal((await cluster.pod("user")).status.phase, "Running");
}, 120_000);

test("shutdownGracePeriod: logind's shutdown is held back until pods are Failed with the reason Terminated", async () => {
  const { machine } = cluster;
  await cluster.stopKubelet("SIGTERM"); // the end of a kubelet is no shutdown: the pod stays
  const drop = join(machine.dir, "kubelet.conf.d");
  await mkdir(drop);
  const type = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
  await writeFile(
    join(drop, "10-shutdown.conf"),
    JSON.stringify({ ...type, shutdownGracePeriod: "5s" }),
  );
  assert.equal((await cluster.pod("user")).status.phase, "Running");
  await startLogind(machine);
  const { uid } = (await cluster.pod("user")).metadata;
  const [group] = await cgroupFolders(machine.cgroupRoot);
  const pids = join(group!.replace("/memory/", "/pids/"), "kubepods/besteffort", `pod${uid}`);
  assert.equal((await readFile(join(pids, "pids.max"), "utf8")).trim(), "100");
  const locks = async (): Promise<string> =>
    (await machine.run("systemd-inhibit", ["--list", "--no-legend"])).stdout;
  cluster.startKubelet();
  await until(async () => (await locks()).includes("kubelet"), LONG);
  assert.match(await locks(), /shutdown +Kubelet needs time to handle node shutdown +delay/);
  await machine.run("busctl", [
    ...["emit", "/org/freedesktop/login1", "org.freedesktop.login1.Manager"],
    ...["PrepareForShutdown", "b", "true"],
  ]);
  await until(async () => !(await locks()).includes("kubelet"), LONG);
  const { status } = await cluster.pod("user");
  assert.deepEqual(
    [status.phase, status.reason, status.message],
    ["Failed", "Terminated", "Pod was terminated in response to imminent node shutdown."],
  );
}, 120_000);

/** The real logind on a system bus of the machine's own. There is no systemd for it to talk to. */
async function startLogind({ run, start }: Machine): Promise<void> {
  for (const program of ["dbus-daemon", "/lib/systemd/systemd-logind"]) {
    const why = missingProgram(program);
    if (why !== undefined) throw new Error(why);
  }
  await run("mkdir", ["-p", "/run/dbus", "/run/systemd/inhibit"]);
  const address = "--address=unix:path=/run/dbus/system_bus_socket";
  start("dbus-daemon", ["--system", "--nofork", "--nopidfile", address]);
  const isThere = async (path: string): Promise<boolean> =>
    (await run("test", ["-e", path])).exitCode === 0;
  await until(() => isThere("/run/dbus/system_bus_socket"), LONG);
  start("/lib/systemd/systemd-logind", []);
  await until(async () => (await run("systemd-inhibit", ["--list"])).exitCode === 0, LONG);
}

async function cgroupFolders(root: string): Promise<string[]> {
  const tops = await readdir("/sys/fs/cgroup");
  const top = tops.includes("cgroup.controllers") ? "" : "memory";
  return [join("/sys/fs/cgroup", top, root)];
}

function container(script: string): Record<string, unknown> {
  return { name: "main", image: BUSYBOX, imagePullPolicy: "Never", command: ["sh", "-c", script] };
}

function pod(name: string, spec: object): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { nodeName: NODE, terminationGracePeriodSeconds: 1, ...spec },
  };
}
