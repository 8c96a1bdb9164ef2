/** CPU, memory and topology manager with the static policies on a real node. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { difference, formatCpuSet, parseCpuSet } from "#kubelet/decide/resources/cpu-set.ts";
import { type NodeCluster, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { allocatableResources, getPodResources, listPodResources } from "./pod-resources.ts";
import { BUSYBOX } from "./runtime.ts";

let cluster: NodeCluster;

beforeAll(async () => {
  cluster = await startNodeCluster(() => [
    ...["--cpu-manager-policy", "static", "--reserved-cpus", "0"],
    ...["--memory-manager-policy", "Static", "--reserved-memory", "0:memory=100Mi"],
    ...["--topology-manager-policy", "single-numa-node"],
  ]);
}, 120_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

test("cpuManagerPolicy static: exclusive CPUs for a Guaranteed pod, the shared pool shrinks and grows, over a kubelet kill", async () => {
  const all = (await readFile("/sys/devices/system/cpu/online", "utf8")).trim();
  await cluster.apply(pod("shared", {}));
  await hasCpus("shared", all);
  await cluster.apply(pod("own", { cpu: "1", memory: "64Mi" }));
  await until(async () => (await inPod("own", "Cpus_allowed_list")) !== "", { timeoutMs: 60_000 });
  const own = await inPod("own", "Cpus_allowed_list");
  assert.match(own, /^[1-9]\d*$/); // CPU 0 is reserved
  const left = formatCpuSet(difference(parseCpuSet(all), parseCpuSet(own)));
  await hasCpus("shared", left);
  assert.equal(await inPod("own", "Mems_allowed_list"), "0");
  const quota = await cluster.kubectl("exec", "own", "--", ...QUOTA);
  assert.match(quota, /^(-1|max)/);
  const state = JSON.parse(
    await readFile(join(cluster.machine.dir, "kubelet/cpu_manager_state"), "utf8"),
  ) as { policyName: string; defaultCpuSet: string; entries: object };
  const { uid } = (await cluster.pod("own")).metadata;
  assert.equal(state.policyName, "static");
  assert.equal(state.defaultCpuSet, left);
  assert.deepEqual(state.entries, { [uid]: { main: own } });
  const [described] = (await getPodResources(cluster, "own"))?.containers ?? [];
  assert.deepEqual(described?.cpuIds, parseCpuSet(own));
  const topology = { nodes: [{ id: 0 }] };
  assert.deepEqual(described?.memory, [{ memoryType: "memory", size: 64 * 1024 ** 2, topology }]);
  const { cpuIds, memory } = await allocatableResources(cluster);
  assert.deepEqual(cpuIds, difference(parseCpuSet(all), [0]));
  assert.equal(memory[0]?.memoryType, "memory");
  const names = (await listPodResources(cluster)).map(({ name }) => name);
  assert.deepEqual(names.sort(), ["own", "shared"]);
  await assert.rejects(
    getPodResources(cluster, "absent"),
    /pod absent in namespace default not found/,
  );

  await cluster.stopKubelet("SIGKILL");
  cluster.startKubelet();
  await cluster.apply(pod("later", {}));
  await hasCpus("later", left);
  await hasCpus("own", own);
  await cluster.kubectl("delete", "pod", "own", "--now");
  await hasCpus("shared", all);
  await hasCpus("later", all);
}, 120_000);

test("enforceNodeAllocatable: the cgroup of all pods has the node's memory as its limit; healthz answers on 10248", async () => {
  const { cgroupRoot, run } = cluster.machine;
  const path = "jsonpath={.items[0].status.capacity.memory}";
  const capacity = await cluster.kubectl("get", "nodes", "-o", path);
  const group = `${cgroupRoot}/kubepods`;
  const files = [
    `/sys/fs/cgroup/memory${group}/memory.limit_in_bytes`,
    `/sys/fs/cgroup${group}/memory.max`,
  ];
  const { stdout } = await run("sh", ["-c", `cat ${files.join(" ")} 2>/dev/null`]);
  assert.equal(`${Number(stdout) / 1024}Ki`, capacity);
  const health = await run("busybox", ["wget", "-qO-", "http://127.0.0.1:10248/healthz"]);
  assert.equal(health.stdout, "ok");
}, 60_000);

test("rotateServerCertificates: the kubelet serves with a certificate of kubernetes.io/kubelet-serving once it is approved", async () => {
  await cluster.stopKubelet("SIGTERM");
  cluster.startKubelet("--rotate-server-certificates");
  const pending = async (): Promise<Csr | undefined> => {
    const list = JSON.parse(await cluster.kubectl("get", "csr", "-o", "json")) as { items: Csr[] };
    return list.items.find(({ spec }) => spec.signerName === "kubernetes.io/kubelet-serving");
  };
  await until(async () => (await pending()) !== undefined, { timeoutMs: 60_000 });
  const request = await pending();
  assert.deepEqual(request?.spec.usages, ["digital signature", "server auth"]);
  assert.equal(request?.spec.username, "system:node:node-1");
  assert.notEqual((await cluster.tryKubectl(["logs", "shared"])).exitCode, 0);
  await cluster.kubectl("certificate", "approve", request.metadata.name);
  const ca = join(cluster.machine.dir, "data/pki/ca.crt");
  const ask = `
    const socket = require("node:tls").connect(
      { host: "192.168.77.1", port: 10250, ca: require("node:fs").readFileSync(${JSON.stringify(ca)}) },
      () => { console.log(socket.getPeerCertificate().subject.CN); socket.end(); });`;
  const serves = async (): Promise<boolean> =>
    (await cluster.machine.run(process.execPath, ["-e", ask])).stdout === "system:node:node-1\n";
  await until(serves, { timeoutMs: 60_000 });
  await cluster.kubectl("logs", "shared");
  // Kept: the next kubelet needs no new one.
  await cluster.stopKubelet("SIGKILL");
  cluster.startKubelet("--rotate-server-certificates");
  await until(serves, { timeoutMs: 60_000 });
}, 120_000);

interface Csr {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly signerName: string;
    readonly usages: readonly string[];
    readonly username: string;
  };
}

test("cpuManagerPolicy: a kubelet with another policy than cpu_manager_state's does not start", async () => {
  await cluster.stopKubelet("SIGTERM");
  cluster.startKubelet("--cpu-manager-policy", "none");
  const path = join(cluster.machine.dir, "kubelet/cpu_manager_state");
  const why = `failed to run Kubelet: could not restore state from checkpoint: configured policy "none" differs from state checkpoint policy "static", please drain this node and delete the CPU manager checkpoint file "${path}" before restarting Kubelet`;
  await until(() => cluster.log().includes(why), { timeoutMs: 60_000 });
}, 90_000);

const QUOTA = [
  "sh",
  "-c",
  "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max 2>/dev/null; true",
];

async function hasCpus(name: string, cpus: string): Promise<void> {
  await until(async () => (await inPod(name, "Cpus_allowed_list")) === cpus, {
    timeoutMs: 60_000,
  }).catch(async () => {
    const has = await inPod(name, "Cpus_allowed_list");
    const state = JSON.stringify((await cluster.pod(name)).status);
    throw new Error(`${name} has CPUs ${has}, not ${cpus}: ${state} ${cluster.log().slice(-3000)}`);
  });
}

/** What the kernel lets the container's first process use. */
async function inPod(name: string, field: string): Promise<string> {
  const { stdout } = await cluster.tryKubectl(["exec", name, "--", "cat", "/proc/1/status"]);
  return new RegExp(`^${field}:\\s+(\\S+)`, "m").exec(stdout)?.[1] ?? "";
}

function pod(name: string, amounts: Readonly<Record<string, string>>): object {
  const container = {
    ...{ name: "main", image: BUSYBOX, imagePullPolicy: "Never" },
    resources: { requests: amounts, limits: amounts },
  };
  const spec = { nodeName: "node-1", terminationGracePeriodSeconds: 1, containers: [container] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}
