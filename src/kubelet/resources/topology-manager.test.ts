import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "vitest";
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { createCpuPolicy } from "#kubelet/decide/resources/cpu-policy.ts";
import { cpuTopology } from "#kubelet/decide/resources/cpu-topology.ts";
import { initialMemory } from "#kubelet/decide/resources/memory-state.ts";
import { cpuPolicyOptions } from "#kubelet/decide/resources/policy-options.ts";
import type { MergeOptions } from "#kubelet/decide/resources/topology-hints.ts";
import { addManagerMetrics } from "#kubelet/node/manager-metrics.ts";
import { Metrics } from "#lib/metrics.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { build } from "#testing/build.ts";
import { CpuManager } from "./cpu-manager.ts";
import { parseMemoryCheckpoint } from "./memory-checkpoint.ts";
import { MemoryManager } from "./memory-manager.ts";
import { TopologyManager } from "./topology-manager.ts";

/** Two NUMA nodes: CPUs 0,1,4,5 and 2,3,6,7; hyper-threads are n and n + 4. Each has 1000 bytes. */
const topology = cpuTopology(
  Array.from({ length: 8 }, (_, cpu) => {
    const node = Math.floor((cpu % 4) / 2);
    return { cpu, core: cpu % 4, socket: node, numaNode: node, uncoreCache: node };
  }),
);
const nodes = [0, 1].map((id) => ({ id, memoryBytes: 1000, hugePages: {} }));
const initial = initialMemory(nodes, new Map([[0, new Map([["memory", 100]])]]));

let folder = "";
let shown = new Metrics();
let metrics = addManagerMetrics(shown);
beforeEach(async () => {
  shown = new Metrics();
  metrics = addManagerMetrics(shown);
  folder = await mkdtemp(join(tmpdir(), "k8ts-resources-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function managers(
  policy: MergeOptions["policy"] | "none" = "none",
  options: Readonly<Record<string, string>> = {},
  scope: "container" | "pod" = "container",
) {
  const cpus = new CpuManager({
    policy: createCpuPolicy(topology, 1, [], cpuPolicyOptions(options)),
    ...{ folder, metrics },
    onShared: () => undefined,
    onWriteFailed: assert.fail,
  });
  const memory = new MemoryManager({ initial, folder, metrics, onWriteFailed: assert.fail });
  await cpus.load();
  await memory.load();
  const numa = { nodes: [0, 1] };
  const merge = policy === "none" ? undefined : { policy, numa, preferClosest: false };
  const providers = [cpus, memory];
  const clock = new VirtualClock(0);
  const manager = new TopologyManager({ providers, merge, scope, clock, metrics });
  return { cpus, memory, admit: (pod: Pod) => manager.admit(pod) };
}

function guaranteed(uid: string, cpu: string, memory = "10"): Pod {
  const amounts = { cpu, memory };
  const resources = { requests: amounts, limits: amounts };
  const containers = [{ name: "main", image: "x", resources }];
  return build(podKind, { metadata: { uid, name: uid }, spec: { containers } });
}

test("static CPU manager: whole CPUs are exclusive, the others are shared, over a restart", async () => {
  const { cpus, admit } = await managers();
  assert.equal(cpus.cpusetOf("x", "main"), "0-7");
  assert.deepEqual(await admit(guaranteed("a", "2")), { admitted: true });
  assert.deepEqual(await admit(guaranteed("b", "1500m")), { admitted: true });
  assert.equal(cpus.cpusetOf("a", "main"), "1,5");
  assert.equal(cpus.cpusetOf("b", "main"), "0,2-4,6-7");
  assert.equal(cpus.isExclusive("a", "main"), true);
  const again = await managers();
  assert.equal(again.cpus.cpusetOf("a", "main"), "1,5");
  again.cpus.forget("a");
  assert.equal(again.cpus.cpusetOf("b", "main"), "0-7");
  await again.cpus.commit(); // after what forget writes
});

test("static CPU manager: UnexpectedAdmissionError when too few CPUs are free", async () => {
  const { cpus, admit } = await managers();
  assert.deepEqual(await admit(guaranteed("a", "8")), {
    admitted: false,
    reason: "UnexpectedAdmissionError",
    message:
      "Allocate failed due to not enough cpus available to satisfy request: requested=8, available=7, which is unexpected",
  });
  assert.equal(cpus.isExclusive("a", "main"), false);
});

test("full-pcpus-only: SMTAlignmentError", async () => {
  const { admit } = await managers("none", { "full-pcpus-only": "true" });
  assert.deepEqual(await admit(guaranteed("a", "1")), {
    admitted: false,
    reason: "SMTAlignmentError",
    message: "SMT Alignment Error: requested 1 cpus not multiple cpus per core = 2",
  });
  assert.deepEqual(await admit(guaranteed("b", "8")), {
    admitted: false,
    reason: "SMTAlignmentError",
    message:
      "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 6, requested CPUs = 8, CPUs per core = 2",
  });
});

test("strict-cpu-reservation: shared containers stay off the reserved CPUs", async () => {
  const { cpus } = await managers("none", { "strict-cpu-reservation": "true" });
  assert.equal(cpus.cpusetOf("x", "main"), "1-7");
});

test("static CPU manager: init containers lend their CPUs; sidecars do not", async () => {
  const { cpus, admit } = await managers();
  const main = guaranteed("a", "2");
  const init = { ...main.spec.containers![0]!, name: "init" };
  const sidecar: Container = { ...init, name: "sidecar", restartPolicy: "Always" };
  const pod: Pod = { ...main, spec: { ...main.spec, initContainers: [init, sidecar] } };
  assert.deepEqual(await admit(pod), { admitted: true });
  assert.equal(cpus.cpusetOf("a", "init"), "1,5");
  assert.equal(cpus.cpusetOf("a", "sidecar"), "1,5");
  assert.equal(cpus.cpusetOf("a", "main"), "2,6");
});

test("single-numa-node: TopologyAffinityError when CPUs and memory are on no common node", async () => {
  const { cpus, memory, admit } = await managers("single-numa-node");
  assert.deepEqual(await admit(guaranteed("a", "4", "950")), { admitted: true });
  assert.equal(cpus.cpusetOf("a", "main"), "2-3,6-7");
  assert.equal(memory.memsOf("a", "main"), "1");
  const refused = {
    admitted: false,
    reason: "TopologyAffinityError",
    message: "Resources cannot be allocated with Topology locality",
  };
  assert.deepEqual(await admit(guaranteed("b", "4")), refused);
  assert.deepEqual(await admit(guaranteed("c", "3", "900")), { admitted: true });
  assert.equal(memory.memsOf("c", "main"), "0");
  memory.forget("a");
  cpus.forget("a");
  assert.deepEqual(await admit(guaranteed("d", "4", "1000")), { admitted: true });
});

test("topologyManagerScope pod: all containers of a pod on one node", async () => {
  const { cpus, admit } = await managers("single-numa-node", {}, "pod");
  const one = guaranteed("a", "2");
  const main = one.spec.containers![0]!;
  const containers = [main, { ...main, name: "two" }];
  const pod: Pod = { ...one, spec: { ...one.spec, containers } };
  assert.deepEqual(await admit(pod), { admitted: true });
  assert.equal(cpus.cpusetOf("a", "main"), "2,6");
  assert.equal(cpus.cpusetOf("a", "two"), "3,7");
});

test("static memory manager: a container over two nodes keeps others off them", async () => {
  const { memory, admit } = await managers();
  assert.deepEqual(await admit(guaranteed("a", "1500m", "1500")), { admitted: true });
  assert.equal(memory.memsOf("a", "main"), "0,1");
  assert.deepEqual(await admit(guaranteed("b", "1500m", "500")), {
    admitted: false,
    reason: "UnexpectedAdmissionError",
    message:
      "Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available, which is unexpected",
  });
  const again = await managers();
  assert.equal(again.memory.memsOf("a", "main"), "0,1");
  again.memory.forget("a");
  assert.deepEqual(await again.admit(guaranteed("b", "1500m", "500")), { admitted: true });
});

test("cpu_manager_, memory_manager_ and topology_manager_ metrics count pinning, refusals and CPUs", async () => {
  const { cpus, admit } = await managers("single-numa-node");
  metrics.countCpus(() =>
    cpus.counts(Array.from({ length: 8 }, (_, cpu) => ({ cpu, numaNode: cpu % 2 }))),
  );
  await admit(guaranteed("a", "2"));
  await admit(guaranteed("too-large", "6"));
  const lines = shown.text().split("\n");
  for (const line of [
    "kubelet_cpu_manager_pinning_requests_total 1",
    "kubelet_cpu_manager_pinning_errors_total 0",
    "kubelet_cpu_manager_shared_pool_size_millicores 6000",
    "kubelet_cpu_manager_exclusive_cpu_allocation_count 2",
    "kubelet_memory_manager_pinning_requests_total 1",
    "kubelet_topology_manager_admission_requests_total 2",
    "kubelet_topology_manager_admission_errors_total 1",
    "kubelet_topology_manager_admission_duration_ms_count 2",
    'kubelet_container_aligned_compute_resources_count{scope="container",boundary="numa_node"} 1',
    'kubelet_container_aligned_compute_resources_failure_count{scope="container",boundary="numa_node"} 1',
  ]) {
    assert.ok(lines.includes(line), `${line} in ${shown.text()}`);
  }
  assert.match(shown.text(), /^kubelet_cpu_manager_allocation_per_numa\{numa_node="1"\} 2$/m);
});

test("cpu_manager_state: another policy or damage ends the start with upstream's words", async () => {
  const { admit } = await managers();
  await admit(guaranteed("pod", "2"));
  const text = await readFile(join(folder, "cpu_manager_state"), "utf8");
  assert.match(
    text,
    /^\{"policyName":"static","defaultCpuSet":"0,2-4,6-7","entries":\{"pod":\{"main":"1,5"\}\},"checksum":\d+\}$/,
  );
  const path = join(folder, "cpu_manager_state");
  const none = new CpuManager({
    policy: undefined,
    ...{ folder, metrics },
    onShared: () => undefined,
    onWriteFailed: assert.fail,
  });
  await assert.rejects(none.load(), {
    message: `could not restore state from checkpoint: configured policy "none" differs from state checkpoint policy "static", please drain this node and delete the CPU manager checkpoint file "${path}" before restarting Kubelet`,
  });
});

test("memory_manager_state: the checksum that upstream's kubelet writes is accepted", () => {
  const text = `{
    "policyName":"static",
    "machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":2048,"systemReserved":512,"allocatable":1536,"reserved":512,"free":1024}},"cells":[]}},
    "entries":{"pod":{"container1":[{"numaAffinity":[0],"type":"memory","size":512}]}},
    "checksum": 4215593881
  }`;
  const { assigned } = parseMemoryCheckpoint("static", text);
  assert.deepEqual(assigned.get("pod")?.get("container1"), [
    { numaAffinity: [0], type: "memory", size: 512 },
  ]);
  assert.throws(
    () => parseMemoryCheckpoint("static", text.replace("4215593881", "1")),
    /checkpoint is corrupted/,
  );
});
