/** In-place resize, the kubelet's own pages, gRPC probes and a second runtime, on a real node. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { hideCgroupV2 } from "./cgroup-v1-only.ts";
import { NODE, type NodeCluster, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { grpcHealthServer } from "./grpc-health-server.ts";
import { BUSYBOX } from "./runtime.ts";

let cluster: NodeCluster;
const LONG = { timeoutMs: 90_000, everyMs: 200 };
const GRPC_PORT = 8097;
const MANIFEST_PORT = 8098;

beforeAll(async () => {
  const settings = (dir: string): string[] => {
    const file = join(dir, "kubelet.yaml");
    const type = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
    const staticPodURL = `http://127.0.0.1:${MANIFEST_PORT}/pod.json`;
    writeFileSync(file, JSON.stringify({ ...type, staticPodURL, httpCheckFrequency: "2s" }));
    return ["--config", file];
  };
  cluster = await startNodeCluster(settings, {
    prepare: hideCgroupV2, // for crun
  });
}, 120_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

describe.concurrent("resize and runtime", () => {
  test("resize subresource: cpu limit grows without a restart, status.resources and the cgroup follow", async () => {
    await cluster.apply(pod("grow", { containers: [limited("100m", "64Mi")] }));
    await running("grow");
    const before = (await cluster.pod("grow")).status.containerStatuses?.[0]?.containerID;
    await resize("grow", { cpu: "200m" });
    await until(async () => (await statusOf("grow")).resources?.limits.cpu === "200m", LONG);
    const { status, metadata } = await cluster.pod("grow");
    assert.equal(status.containerStatuses?.[0]?.containerID, before);
    assert.equal(status.containerStatuses?.[0]?.restartCount, 0);
    assert.equal((await statusOf("grow")).allocatedResources?.cpu, "200m");
    assert.equal(await quotaOf(metadata.uid), 20_000);
    await until(async () => (await eventsOf("grow")).includes("ResizeCompleted"), LONG);
    await until(
      async () => !(await conditionsOf("grow")).some(({ type }) => type.startsWith("PodResize")),
      LONG,
    );
  }, 120_000);

  test("resizePolicy RestartContainer: the container is restarted with the new memory limit", async () => {
    const container = {
      ...limited("100m", "64Mi"),
      resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }],
    };
    await cluster.apply(pod("restart", { containers: [container] }));
    await running("restart");
    await resize("restart", { memory: "96Mi" });
    await until(async () => {
      const [main] = (await cluster.pod("restart")).status.containerStatuses ?? [];
      return main?.restartCount === 1 && main.state.running !== undefined;
    }, LONG);
    await until(async () => (await statusOf("restart")).resources?.limits.memory === "96Mi", LONG);
  }, 120_000);

  test("resize that does not fit: PodResizePending says Deferred until another pod gives room", async () => {
    const allocatable = ["get", "node", NODE, "-o", "jsonpath={.status.allocatable.cpu}"];
    const cpus = Number(await cluster.kubectl(...allocatable));
    const hog = {
      ...limited("50m", "32Mi"),
      resources: { requests: { cpu: `${cpus * 1000 - 900}m` } },
    };
    await cluster.apply(pod("hog", { containers: [hog] }));
    await cluster.apply(pod("deferred", { containers: [limited("50m", "64Mi")] }));
    await Promise.all([running("hog"), running("deferred")]);
    await resize("deferred", { cpu: "950m" });
    const pending = async () =>
      (await conditionsOf("deferred")).find(({ type }) => type === "PodResizePending");
    await until(async () => (await pending()) !== undefined, LONG);
    const condition = await pending();
    assert.equal(condition?.reason, "Deferred");
    assert.match(
      condition?.message ?? "",
      /^Node didn't have enough resource: cpu, requested: 950, /,
    );
    assert.equal((await statusOf("deferred")).resources?.limits.cpu, "50m");
    await cluster.kubectl("delete", "pod", "hog");
    await until(async () => (await statusOf("deferred")).resources?.limits.cpu === "950m", LONG);
    await until(async () => (await pending()) === undefined, LONG);
  }, 120_000);

  test("livenessProbe and readinessProbe grpc: the pod is Ready while the server answers SERVING", async () => {
    cluster.machine.start(process.execPath, ["-e", grpcHealthServer(GRPC_PORT)]);
    const grpc = { grpc: { port: GRPC_PORT }, periodSeconds: 1 };
    const container = { ...limited("50m", "32Mi"), livenessProbe: grpc, readinessProbe: grpc };
    await cluster.apply(pod("grpc", { hostNetwork: true, containers: [container] }));
    await until(
      async () => (await cluster.pod("grpc")).status.containerStatuses?.[0]?.ready === true,
      LONG,
    );
    await until(
      async () =>
        /prober_probe_total\{container="main",namespace="default",pod="grpc",pod_uid="[^"]+",probe_type="Readiness",result="successful"\} [1-9]/.test(
          await page("metrics/probes"),
        ),
      LONG,
    );
    const wrong = { ...container, readinessProbe: { grpc: { port: 1 }, periodSeconds: 1 } };
    await cluster.apply(pod("grpc-wrong", { hostNetwork: true, containers: [wrong] }));
    await until(async () => (await eventsOf("grpc-wrong")).includes("Unhealthy"), LONG);
    assert.equal((await cluster.pod("grpc-wrong")).status.containerStatuses?.[0]?.ready, false);
  }, 120_000);

  test("RuntimeClass: the handler of the class makes the sandbox, here crun", async () => {
    const runtimeClass = {
      ...{ apiVersion: "node.k8s.io/v1", kind: "RuntimeClass" },
      ...{ metadata: { name: "crun" }, handler: "crun" },
    };
    await cluster.apply(runtimeClass);
    await cluster.apply(
      pod("crun", { runtimeClassName: "crun", containers: [limited("50m", "32Mi")] }),
    );
    await running("crun");
    // crun keeps a file of this name of each of its containers; runc's is state.json.
    const { containerID = "" } = (await cluster.pod("crun")).status.containerStatuses?.[0] ?? {};
    const id = containerID.replace("containerd://", "");
    const path = `/run/containerd/runc/k8s.io/${id}/status`;
    assert.equal((await cluster.machine.run("test", ["-f", path])).exitCode, 0);
    const { exitCode } = await cluster.tryKubectl(["exec", "crun", "--", "true"]);
    assert.equal(exitCode, 0);
    await cluster.kubectl("delete", "pod", "crun", "--wait=true", "--timeout=60s");
  }, 120_000);

  test("staticPodURL: the pod runs, is mirrored with config.source http, and ends when the manifest is empty", async () => {
    const folder = join(cluster.machine.dir, "manifests-http");
    await mkdir(folder);
    await writeFile(
      join(folder, "pod.json"),
      JSON.stringify(pod("by-url", { containers: [limited("50m", "32Mi")] })),
    );
    cluster.machine.start("busybox", [
      "httpd",
      "-f",
      "-p",
      `127.0.0.1:${MANIFEST_PORT}`,
      "-h",
      folder,
    ]);
    await running(`by-url-${NODE}`);
    const source = await cluster.kubectl(
      "get",
      "pod",
      `by-url-${NODE}`,
      "-o",
      "jsonpath={.metadata.annotations.kubernetes\\.io/config\\.source}",
    );
    assert.equal(source, "http");
    const list = { apiVersion: "v1", kind: "PodList", items: [] };
    await writeFile(join(folder, "pod.json"), JSON.stringify(list));
    await until(async () => {
      const { stdout } = await cluster.tryKubectl(["get", "pods", "-o", "name"]);
      return stdout !== "" && !stdout.includes("by-url");
    }, LONG);
  }, 120_000);

  test("/metrics/cadvisor, /configz, /logs/ and /checkpoint through the API server", async () => {
    await cluster.apply(pod("measured", { containers: [limited("50m", "32Mi")] }));
    await running("measured");
    const labels = `\\{container="main",id="[^"]+",image="${BUSYBOX}",name="[0-9a-f]+",namespace="default",pod="measured"\\}`;
    const wanted = [
      "container_memory_working_set_bytes",
      "container_memory_rss",
      "container_cpu_cfs_periods_total",
      "container_start_time_seconds",
      "container_spec_memory_limit_bytes",
    ];
    await until(async () => {
      const text = await page("metrics/cadvisor");
      return wanted.every((name) => new RegExp(`^${name}${labels} [0-9]`, "m").test(text));
    }, LONG);
    const text = await page("metrics/cadvisor");
    assert.match(text, /^container_spec_memory_limit_bytes\{[^}]*pod="measured"\} 33554432$/m);
    assert.match(text, /^machine_cpu_cores\{[^}]*\} [1-9]/m);
    const { kubeletconfig } = JSON.parse(await page("configz")) as {
      kubeletconfig: Record<string, unknown>;
    };
    assert.equal(kubeletconfig.kind, "KubeletConfiguration");
    assert.equal(kubeletconfig.imageGCHighThresholdPercent, 85);
    assert.match(await page("logs/"), /<pre>/);
    const path = `/api/v1/nodes/${NODE}/proxy/checkpoint/default/measured/main`;
    const refused = await cluster.tryKubectl(["create", "--raw", path, "-f", "-"], "{}");
    assert.match(
      refused.stderr + refused.stdout,
      /checkpointing of default\/measured\/main failed|items/,
    );
  }, 120_000);
});

interface ResourceStatus {
  readonly allocatedResources?: Record<string, string>;
  readonly resources?: { readonly limits: Record<string, string> };
}

async function statusOf(name: string): Promise<ResourceStatus> {
  const { status } = await cluster.pod(name);
  return (status.containerStatuses?.[0] ?? {}) as ResourceStatus;
}

async function conditionsOf(
  name: string,
): Promise<readonly { type: string; reason?: string; message?: string }[]> {
  return (await cluster.pod(name)).status.conditions ?? [];
}

async function quotaOf(uid: string): Promise<number> {
  const group = join(cluster.machine.cgroupRoot, "kubepods", `pod${uid}`);
  const v1 = join("/sys/fs/cgroup/cpu", group, "cpu.cfs_quota_us");
  const v2 = join("/sys/fs/cgroup", group, "cpu.max");
  const text = await readFile(v1, "utf8").catch(() => readFile(v2, "utf8"));
  return Number(text.split(" ")[0]);
}

async function resize(name: string, amounts: Record<string, string>): Promise<void> {
  const resources = { requests: amounts, limits: amounts };
  const patch = { spec: { containers: [{ name: "main", resources }] } };
  await cluster.kubectl(
    "patch",
    "pod",
    name,
    "--subresource",
    "resize",
    "--patch",
    JSON.stringify(patch),
  );
}

async function eventsOf(name: string): Promise<string> {
  const selector = `involvedObject.name=${name}`;
  return cluster.kubectl(
    "get",
    "events",
    "--field-selector",
    selector,
    "-o",
    "jsonpath={.items[*].reason}",
  );
}

function page(path: string): Promise<string> {
  return cluster.kubectl("get", "--raw", `/api/v1/nodes/${NODE}/proxy/${path}`);
}

async function running(name: string): Promise<void> {
  await until(async () => {
    const { stdout } = await cluster.tryKubectl([
      "get",
      "pod",
      name,
      "-o",
      "jsonpath={.status.phase}",
    ]);
    return stdout === "Running";
  }, LONG).catch(() => {
    throw new Error(`${name} does not run: ${cluster.log().slice(-3000)}`);
  });
}

function limited(cpu: string, memory: string): Record<string, unknown> {
  const command = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done"];
  const resources = { requests: { cpu, memory }, limits: { cpu, memory } };
  return { name: "main", image: BUSYBOX, imagePullPolicy: "Never", command, resources };
}

function pod(name: string, spec: object): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { nodeName: NODE, terminationGracePeriodSeconds: 1, ...spec },
  };
}
