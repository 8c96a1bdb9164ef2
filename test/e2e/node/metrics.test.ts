/** The kubelet's metrics pages on a real node: what pods do is seen in the counters that dashboards read. */
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { runProgram } from "#host/run-program.ts";
import { codeOf } from "#lib/caught.ts";
import { NODE, type NodeCluster, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { BUSYBOX } from "./runtime.ts";

/** The machine may be busy with other work. */
const LONG = { timeoutMs: 90_000, everyMs: 200 };
const MB = 1_000_000;

let cluster: NodeCluster;

beforeAll(async () => {
  cluster = await startNodeCluster((dir) => [
    ...["--pod-manifest-path", join(dir, "manifests"), "--rotate-certificates=true"],
  ]);
  await countDiskIo(cluster.machine);
}, 120_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

test("container_fs_reads and container_fs_writes: a container that writes and reads 8 MB of a disk", async () => {
  await cluster.apply(pod("disk", "sleep 3600", [{ name: "data", emptyDir: {} }]));
  await running("disk");
  const of = (name: string, more = ""): Promise<number> =>
    sum("metrics/cadvisor", `container_fs_${name}`, `container="main"`, `pod="disk"`, more);
  const before = await Promise.all([of("writes_bytes_total"), of("reads_bytes_total")]);
  const script =
    "dd if=/dev/zero of=/data/file bs=1000000 count=8 conv=fsync && dd if=/data/file of=/dev/null bs=1048576 iflag=direct";
  await cluster.kubectl("exec", "disk", "--", "sh", "-c", script);
  await until(async () => (await of("writes_bytes_total")) >= (before[0] ?? 0) + 8 * MB, LONG);
  await until(async () => (await of("reads_bytes_total")) >= (before[1] ?? 0) + 7 * MB, LONG);
  assert.ok((await of("writes_total", `device="/dev/`)) >= 1);
  assert.ok((await of("reads_total", `device="/dev/`)) >= 1);
  assert.ok((await of("usage_bytes", `device="/`)) >= 0);
}, 180_000);

test("container_network: packets and bytes of both ends of a download", async () => {
  const serve =
    "mkdir /www; dd if=/dev/zero of=/www/file bs=1000000 count=2; httpd -f -p 80 -h /www";
  await cluster.apply(pod("server", serve), pod("client", "sleep 3600"));
  await running("server");
  await running("client");
  const of = (name: string, podName: string): Promise<number> =>
    sum("metrics/cadvisor", `container_network_${name}`, `pod="${podName}"`, `interface="eth0"`);
  const packets = await of("receive_packets_total", "client");
  const { podIP } = (await cluster.pod("server")).status;
  const get = `until wget -q -O /dev/null http://${podIP}/file; do sleep 1; done`;
  await cluster.kubectl("exec", "client", "--", "sh", "-c", get);
  await until(async () => (await of("receive_bytes_total", "client")) >= 2 * MB, LONG);
  await until(async () => (await of("transmit_bytes_total", "server")) >= 2 * MB, LONG);
  assert.ok((await of("receive_packets_total", "client")) > packets + 1);
  assert.ok((await of("transmit_packets_total", "client")) > 1);
  for (const name of ["receive_packets_dropped", "transmit_packets_dropped", "receive_errors"]) {
    assert.equal(await of(`${name}_total`, "client"), 0, name);
  }
}, 180_000);

test("/metrics/cadvisor: rows of the machine, of all pods, of a pod, its sandbox and its container", async () => {
  const text = await page("metrics/cadvisor");
  const ids = new Set(
    [...text.matchAll(/^container_last_seen\{.*?id="([^"]*)"/gm)].map(([, id]) => id),
  );
  const { uid } = (await cluster.pod("client")).metadata;
  const group = `${cluster.machine.cgroupRoot}/kubepods/besteffort/pod${uid}`;
  for (const id of ["/", `${cluster.machine.cgroupRoot}/kubepods`, group])
    assert.ok(ids.has(id), id);
  assert.equal([...ids].filter((id) => id?.startsWith(`${group}/`)).length, 2);
  assert.match(text, /^machine_cpu_physical_cores\{boot_id="[^"]+"/m);
  assert.match(text, /^container_scrape_error 0$/m);
  for (const family of [
    ...["container_processes", "container_threads", "container_spec_cpu_shares"],
    ...["container_memory_max_usage_bytes", "container_memory_failcnt"],
    ...["container_memory_usage_bytes", "container_oom_events_total"],
  ]) {
    const found = await samples("metrics/cadvisor", family, `container="main"`, `pod="client"`);
    assert.equal(found.length, 1, family);
  }
  const spec = `container_memory_working_set_bytes\\{container="",id="${group}",image="",`;
  assert.match(text, new RegExp(`^${spec}`, "m"));
}, 60_000);

test("/metrics: pods by origin, volumes, start latency, certificates", async () => {
  await until(async () => (await of("kubelet_pod_start_sli_duration_seconds_count")) >= 3, LONG);
  assert.ok((await of("kubelet_pod_start_total_duration_seconds_count")) >= 3);
  assert.ok((await of("kubelet_first_network_pod_start_sli_duration_seconds")) > 0);
  assert.ok((await of("kubelet_desired_pods", 'static=""')) >= 3);
  assert.ok((await of("kubelet_active_pods", 'static=""')) >= 3);
  assert.ok((await of("kubelet_working_pods", 'lifecycle="sync"', 'config="desired"')) >= 3);
  for (const state of ["actual_state_of_world", "desired_state_of_world"]) {
    const plugin = 'plugin_name="kubernetes.io/empty-dir"';
    assert.equal(await of("volume_manager_total_volumes", plugin, `state="${state}"`), 1, state);
  }
  assert.equal(await of("kubelet_certificate_manager_client_expiration_renew_errors"), 0);
  assert.ok((await of("kubelet_pod_worker_start_duration_seconds_count")) >= 3);
}, 120_000);

test("kubelet_restarted_pods_total: a static pod whose manifest went and came back runs again", async () => {
  const file = join(cluster.machine.dir, "manifests/static.json");
  // It ends 3 s after the signal, so that the manifest is back before it has ended.
  const script = "trap 'sleep 3; exit 0' TERM; while :; do sleep 1; done";
  const manifest = JSON.stringify(pod("static", script));
  await writeFile(file, manifest);
  const mirror = `static-${NODE}`;
  await until(async () => (await phaseOf(mirror)) === "Running", LONG);
  await until(async () => (await of("kubelet_mirror_pods")) === 1, LONG);
  assert.equal(await of("kubelet_desired_pods", 'static="true"'), 1);
  await rm(file);
  await until(async () => (await of("kubelet_desired_pods", 'static="true"')) === 0, LONG);
  await writeFile(file, manifest);
  await until(async () => (await of("kubelet_restarted_pods_total", 'static="true"')) === 1, LONG);
  await until(async () => (await of("kubelet_desired_pods", 'static="true"')) === 1, LONG);
  await until(async () => (await phaseOf(mirror)) === "Running", LONG);
  await rm(file);
  await until(async () => (await of("kubelet_working_pods", 'static="true"')) === 0, LONG);
}, 240_000);

test("kubelet_orphaned_runtime_pods_total: a pod that was deleted while the kubelet was away", async () => {
  await cluster.stopKubelet("SIGKILL");
  await cluster.kubectl("delete", "pod", "client", "--grace-period=0", "--force");
  cluster.startKubelet();
  await until(async () => (await of("kubelet_orphaned_runtime_pods_total")) === 1, LONG);
}, 120_000);

test("kubelet_node_startup_…: a node that registers anew is measured until it is Ready", async () => {
  assert.equal(await of("kubelet_node_startup_duration_seconds"), 0);
  await cluster.stopKubelet("SIGKILL");
  await cluster.kubectl("delete", "pods", "--all", "--grace-period=0", "--force");
  await cluster.kubectl("delete", "node", NODE);
  cluster.startKubelet();
  const part = (name: string): Promise<number> =>
    of(`kubelet_node_startup_${name}duration_seconds`);
  await until(async () => (await part("registration_")) > 0, LONG);
  assert.ok((await part("pre_kubelet_")) > 0);
  assert.ok((await part("pre_registration_")) > 0);
  const cidr = { spec: { podCIDR: "10.244.0.0/24", podCIDRs: ["10.244.0.0/24"] } };
  await cluster.kubectl("patch", "node", NODE, "--patch", JSON.stringify(cidr));
  await until(async () => (await part("")) > (await part("pre_kubelet_")), LONG);
  assert.ok((await part("post_registration_")) >= 0);
}, 180_000);

/**
 * With cgroup v1, newer kernels count what cgroups do on a disk only once some cgroup has a limit for it.
 * This one is beyond what any disk can do.
 */
async function countDiskIo({ dir, cgroupRoot }: NodeCluster["machine"]): Promise<void> {
  const file = join("/sys/fs/cgroup/blkio", cgroupRoot, "blkio.throttle.write_bps_device");
  const { stdout } = await runProgram("findmnt", ["-n", "-o", "MAJ:MIN", "--target", dir]);
  await writeFile(file, `${stdout.trim()} ${2 ** 40}`, { flag: "r+" }).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error; // cgroup v2
  });
}

function of(name: string, ...labels: string[]): Promise<number> {
  return sum("metrics", name, ...labels);
}

async function sum(path: string, name: string, ...labels: string[]): Promise<number> {
  return (await samples(path, name, ...labels)).reduce((total, value) => total + value, 0);
}

/** Values of the family's samples whose labels contain all of these texts. */
async function samples(path: string, name: string, ...labels: string[]): Promise<number[]> {
  const text = await page(path).catch(() => ""); // the kubelet is just starting
  return text
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => labels.every((label) => line.includes(label)))
    .map((line) => Number(line.replace(/\{.*\}/, "").split(" ")[1]));
}

function page(path: string): Promise<string> {
  return cluster.kubectl("get", "--raw", `/api/v1/nodes/${NODE}/proxy/${path}`);
}

async function phaseOf(name: string): Promise<string> {
  const { stdout } = await cluster.tryKubectl([
    "get",
    "pod",
    name,
    "-o",
    "jsonpath={.status.phase}",
  ]);
  return stdout;
}

async function running(name: string): Promise<void> {
  await until(async () => (await phaseOf(name)) === "Running", LONG);
}

function pod(
  name: string,
  script: string,
  volumes: readonly { readonly name: string; readonly emptyDir: object }[] = [],
): object {
  const container = {
    ...{ name: "main", image: BUSYBOX, imagePullPolicy: "Never", command: ["sh", "-c", script] },
    volumeMounts: volumes.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` })),
  };
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" } },
    spec: {
      ...{ nodeName: NODE, terminationGracePeriodSeconds: 10, volumes, containers: [container] },
      automountServiceAccountToken: false,
    },
  };
}
