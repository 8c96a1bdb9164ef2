/** What the kubelet puts on its Node, and the cgroups and local volumes of pods, on a real node. */
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { NODE, type NodeCluster, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { BUSYBOX } from "./runtime.ts";

/** The machine may be busy with other work. */
const LONG = { timeoutMs: 90_000, everyMs: 200 };
const ZONE = "topology.kubernetes.io/zone";
const MI = 1024 ** 2;

let cluster: NodeCluster;

beforeAll(async () => {
  cluster = await startNodeCluster(() => [
    ...["--node-labels", `team=blue,${ZONE}=z1`],
    ...["--register-with-taints", "dedicated=e2e:NoSchedule"],
  ]);
  await cluster.apply({
    ...{ apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: { name: "heavy" } },
    ...{ handler: "runc", overhead: { podFixed: { cpu: "100m", memory: "16Mi" } } },
  });
}, 120_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

describe.concurrent("cgroup of a pod", () => {
  test.each([
    {
      name: "pod-level",
      what: "spec.resources of the pod",
      spec: {
        resources: { requests: { cpu: "250m" }, limits: { cpu: "500m", memory: "64Mi" } },
      },
      container: {},
      want: { memoryBytes: 64 * MI, quotaUs: 50_000 },
    },
    {
      name: "overhead",
      what: "limits of containers and the overhead of the RuntimeClass",
      spec: { runtimeClassName: "heavy" },
      container: { resources: { limits: { cpu: "200m", memory: "32Mi" } } },
      want: { memoryBytes: 48 * MI, quotaUs: 30_000 },
    },
  ])(
    "memory limit and CPU quota are $what",
    async ({ name, spec, container, want }) => {
      await cluster.apply(pod(name, { ...spec, containers: [{ ...main(), ...container }] }));
      await running(name);
      const { uid } = (await cluster.pod(name)).metadata;
      assert.deepEqual(await limitsOf(`pod${uid}`), want);
    },
    180_000,
  );
});

describe.concurrent("local PersistentVolume", () => {
  test("the container writes to the folder of the node", async () => {
    const folder = join(cluster.machine.dir, "disk");
    await mkdir(folder);
    const command = ["sh", "-c", "echo kept > /data/file; while :; do sleep 1; done"];
    await cluster.apply(
      ...claimedFolder("disk", folder, NODE),
      claiming("writer", "disk", command),
    );
    await running("writer");
    await until(async () => {
      const text = await readFile(join(folder, "file"), "utf8").catch(() => "");
      return text === "kept\n";
    }, LONG);
  }, 180_000);

  test("nodeAffinity of the volume is for another node: FailedMount, the pod waits", async () => {
    const folder = join(cluster.machine.dir, "far");
    await mkdir(folder);
    await cluster.apply(...claimedFolder("far", folder, "node-2"), claiming("stranded", "far"));
    const args = ["get", "events", "--field-selector", "involvedObject.name=stranded"];
    await until(async () => {
      const events = await cluster.kubectl(...args, "-o", "jsonpath={.items[*].message}");
      return events.includes("MountVolume.NodeAffinity check failed");
    }, LONG);
    assert.equal((await cluster.pod("stranded")).status.phase, "Pending");
  }, 180_000);
});

describe("Node", () => {
  test("an existing Node gets the zone of --node-labels, no other label of it, and no taints", async () => {
    const { labels, taints } = await nodeView();
    assert.deepEqual([labels[ZONE], labels.team, taints], ["z1", undefined, []]);
  });

  test("--node-labels and --register-with-taints: a Node that the kubelet makes has them; a taint that was removed stays removed", async () => {
    await cluster.stopKubelet("SIGTERM");
    await cluster.kubectl("delete", "node", NODE);
    cluster.startKubelet();
    await until(async () => (await cluster.tryKubectl(["get", "node", NODE])).exitCode === 0, LONG);
    const made = await nodeView();
    assert.deepEqual([made.labels[ZONE], made.labels.team], ["z1", "blue"]);
    assert.ok(made.taints.includes("dedicated"));
    await cluster.kubectl("taint", "node", NODE, "dedicated-");
    await cluster.kubectl("label", "node", NODE, "team-");
    await cluster.stopKubelet("SIGTERM");
    cluster.startKubelet("--eviction-hard", "pid.available<100%");
    await until(async () => (await pidPressure()) === "True", LONG);
    const again = await nodeView();
    assert.equal(again.labels.team, undefined);
    assert.ok(!again.taints.includes("dedicated"));
  }, 180_000);

  test("evictionHard pid.available: the pod is Evicted", async () => {
    await until(async () => (await cluster.pod("writer")).status.phase === "Failed", LONG);
    const { reason, message = "" } = (await cluster.pod("writer")).status;
    assert.equal(reason, "Evicted");
    assert.match(message, /^The node was low on resource: pids\./);
  }, 180_000);
});

function pidPressure(): Promise<string> {
  const path = `{.status.conditions[?(@.type=="PIDPressure")].status}`;
  return cluster.kubectl("get", "node", NODE, "-o", `jsonpath=${path}`);
}

interface NodeView {
  readonly labels: Readonly<Record<string, string>>;
  /** Keys of the taints, without those of the control plane. */
  readonly taints: readonly string[];
}

async function nodeView(): Promise<NodeView> {
  const text = await cluster.kubectl("get", "node", NODE, "-o", "json");
  const { metadata, spec } = JSON.parse(text) as {
    metadata: { labels: Record<string, string> };
    spec: { taints?: { key: string }[] };
  };
  const keys = (spec.taints ?? []).map(({ key }) => key);
  return { labels: metadata.labels, taints: keys.filter((key) => !key.includes("/")) };
}

/** Of a cgroup somewhere below the machine's, in both layouts. */
async function limitsOf(group: string): Promise<{ memoryBytes: number; quotaUs: number }> {
  const script = `
    for folder in $(find /sys/fs/cgroup -path '*${cluster.machine.cgroupRoot}/*' -type d -name ${group}); do
      for file in memory.limit_in_bytes memory.max cpu.cfs_quota_us cpu.max; do
        [ -e $folder/$file ] && echo $file $(cat $folder/$file)
      done
    done; true`;
  const { stdout } = await cluster.machine.run("sh", ["-c", script]);
  const value = (name: string): number =>
    Number(new RegExp(`^${name} (\\d+)`, "m").exec(stdout)?.[1] ?? Number.NaN);
  return {
    memoryBytes: value("memory\\.(?:limit_in_bytes|max)"),
    quotaUs: value("cpu\\.(?:cfs_quota_us|max)"),
  };
}

/** A local volume of a node, and a claim of the same name that is bound to it. */
function claimedFolder(name: string, path: string, node: string): object[] {
  const shared = {
    ...{ accessModes: ["ReadWriteOnce"], storageClassName: "" },
    volumeMode: "Filesystem",
  };
  const hostname = { key: "kubernetes.io/hostname", operator: "In", values: [node] };
  return [
    {
      ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name } },
      spec: {
        ...{ ...shared, capacity: { storage: "1Mi" }, local: { path } },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [hostname] }] } },
      },
    },
    {
      ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name } },
      spec: { ...shared, volumeName: name, resources: { requests: { storage: "1Mi" } } },
    },
  ];
}

function claiming(name: string, claimName: string, command?: readonly string[]): object {
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  return pod(name, {
    containers: [{ ...main(), volumeMounts, ...(command === undefined ? {} : { command }) }],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
  });
}

function pod(name: string, spec: object): object {
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name } },
    spec: { nodeName: NODE, terminationGracePeriodSeconds: 1, ...spec },
  };
}

function main(): object {
  const command = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done"];
  return { name: "main", image: BUSYBOX, imagePullPolicy: "Never", command };
}

async function running(name: string): Promise<void> {
  await until(async () => (await cluster.pod(name)).status.phase === "Running", LONG);
}
