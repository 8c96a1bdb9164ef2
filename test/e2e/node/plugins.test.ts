/** Plug-ins of the kubelet, each a real program with a gRPC socket, on a real node. */
import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { NODE, type NodeCluster, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { CSI_DRIVER, DEVICE_RESOURCE, DRA_DRIVER } from "./plugins/plugin-names.ts";
import { startPlugin } from "./plugins/start-plugin.ts";
import { allocatableResources, getPodResources } from "./pod-resources.ts";
import { BUSYBOX } from "./runtime.ts";

let cluster: NodeCluster;
const LONG = { timeoutMs: 60_000, everyMs: 200 };

beforeAll(async () => {
  cluster = await startNodeCluster();
  const { dir } = cluster.machine;
  await startPlugin(cluster, "./csi-driver.ts", join(dir, "kubelet"), join(dir, "csi"));
  await cluster.apply({
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    metadata: { name: CSI_DRIVER },
    spec: {
      attachRequired: true,
      podInfoOnMount: true,
      fsGroupPolicy: "File",
      volumeLifecycleModes: ["Persistent", "Ephemeral"],
      tokenRequests: [{ audience: "vault" }],
    },
  });
}, 240_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

describe("CSI", () => {
  test("plug-in registration: the driver is in CSINode, the Node has its node ID and topology", async () => {
    await until(async () => (await json("csinode", NODE)).spec.drivers?.length === 1, LONG);
    const { spec, metadata } = await json("csinode", NODE);
    assert.deepEqual(spec.drivers, [
      {
        name: CSI_DRIVER,
        nodeID: "machine-1",
        topologyKeys: ["topology.k8ts.example/rack"],
        allocatable: { count: 7 },
      },
    ]);
    assert.equal(metadata.ownerReferences[0].name, NODE);
    const node = await json("node", NODE);
    assert.equal(node.metadata.labels["topology.k8ts.example/rack"], "r1");
    const ids = node.metadata.annotations["csi.volume.kubernetes.io/nodeid"];
    assert.equal(ids, `{"${CSI_DRIVER}":"machine-1"}`);
  }, 120_000);

  test("inline csi volume: NodePublishVolume has pod info and tokens in its volume context", async () => {
    const volume = {
      name: "data",
      csi: { driver: CSI_DRIVER, volumeAttributes: { color: "red" } },
    };
    await cluster.apply(pod("inline", volume, "echo hello > /data/file; sleep 3600"));
    await running("inline");
    const { uid } = (await cluster.pod("inline")).metadata;
    const published = (await calls()).find(
      ({ name, targetPath }) => name === "publish" && targetPath.includes(uid),
    );
    const context = published?.volumeContext ?? {};
    assert.equal(context.color, "red");
    assert.equal(context["csi.storage.k8s.io/pod.name"], "inline");
    assert.equal(context["csi.storage.k8s.io/ephemeral"], "true");
    const tokens = JSON.parse(context["csi.storage.k8s.io/serviceAccount.tokens"] ?? "{}");
    assert.match(tokens.vault.token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
    await cluster.kubectl("delete", "pod", "inline", "--grace-period=1");
    assert.ok((await namesOf(published?.volumeId ?? "")).includes("unpublish"));
    assert.equal(await mountsOf(uid), "");
  }, 120_000);

  test("persistent csi volume: attached, staged, published; kept over a kubelet kill; expanded; cleaned up", async () => {
    await cluster.apply(...persistent("disk", {}));
    const volume = { name: "data", persistentVolumeClaim: { claimName: "disk" } };
    await cluster.apply(pod("writer", volume, "echo kept > /data/file; sleep 3600"));
    await attach("disk");
    await running("writer");
    assert.deepEqual((await namesOf("disk")).slice(0, 2), ["stage", "publish"]);
    assert.deepEqual((await json("node", NODE)).status.volumesInUse, [
      `kubernetes.io/csi/${CSI_DRIVER}^disk`,
    ]);
    const group = await cluster.kubectl("exec", "writer", "--", "stat", "-c", "%g", "/data");
    assert.equal(group.trim(), "2000");
    await volumeStatsOfDisk();

    const before = await cluster.pod("writer");
    await cluster.stopKubelet("SIGKILL");
    const size = { spec: { capacity: { storage: "2Gi" } } };
    await cluster.kubectl("patch", "pv", "disk", "-p", JSON.stringify(size));
    cluster.startKubelet();
    await until(async () => (await json("pvc", "disk")).status.capacity.storage === "2Gi", LONG);
    const expanded = (await calls()).find(({ name }) => name === "expand");
    assert.equal(expanded?.capacityRange?.requiredBytes, 2 * 1024 ** 3);
    const after = await cluster.pod("writer");
    assert.equal(
      after.status.containerStatuses?.[0]?.containerID,
      before.status.containerStatuses?.[0]?.containerID,
    );

    await cluster.kubectl("delete", "pod", "writer", "--grace-period=1");
    const { uid } = before.metadata;
    assert.equal(await mountsOf(uid), "");
    assert.equal((await namesOf("disk")).at(-1), "unstage");
    await until(async () => (await json("node", NODE)).status.volumesInUse === undefined, LONG);
    await until(async () => (await attachments()).length === 0, LONG);

    await cluster.apply(pod("reader", volume, "cat /data/file; sleep 3600"));
    await attach("disk");
    await running("reader");
    await until(async () => (await cluster.kubectl("logs", "reader")).trim() === "kept", LONG);
    await cluster.kubectl("delete", "pod", "reader", "--grace-period=1");
  }, 180_000);

  test("volumeDevices: a csi volume of volumeMode Block is a device of the container", async () => {
    await cluster.apply(...persistent("raw", { volumeMode: "Block" }));
    const block = pod("block", { name: "data", persistentVolumeClaim: { claimName: "raw" } }, "");
    const [container] = block.spec.containers;
    await cluster.apply({
      ...block,
      spec: {
        ...block.spec,
        containers: [
          {
            ...{ name: container!.name, image: container!.image },
            command: ["sh", "-c", "test -b /dev/xvda && echo block; sleep 3600"],
            volumeDevices: [{ name: "data", devicePath: "/dev/xvda" }],
          },
        ],
      },
    });
    await attach("raw");
    await running("block");
    await until(async () => (await cluster.kubectl("logs", "block")).trim() === "block", LONG);
    await cluster.kubectl("delete", "pod", "block", "--grace-period=1");
    assert.deepEqual(await namesOf("raw"), ["stage", "publish", "unpublish", "unstage"]);
  }, 120_000);
});

/** NodeGetVolumeStats in /stats/summary and in kubelet_volume_stats_*. */
async function volumeStatsOfDisk(): Promise<void> {
  const page = (path: string): Promise<string> =>
    cluster.kubectl("get", "--raw", `/api/v1/nodes/${NODE}/proxy/${path}`);
  const { pods } = JSON.parse(await page("stats/summary")) as {
    pods: { podRef: { name: string }; volume?: { name: string; time?: string }[] }[];
  };
  const volumes = pods.find(({ podRef }) => podRef.name === "writer")?.volume ?? [];
  const { time: _, ...data } = volumes.find(({ name }) => name === "data") ?? {};
  assert.deepEqual(data, {
    ...{ name: "data", pvcRef: { name: "disk", namespace: "default" } },
    ...{ capacityBytes: 1000, usedBytes: 400, availableBytes: 600 },
    ...{ inodes: 50, inodesUsed: 20, inodesFree: 30, volumeHealthStats: { abnormal: true } },
  });
  const token = volumes.find(({ name }) => name.startsWith("kube-api-access-"));
  assert.ok(token !== undefined, JSON.stringify(volumes)); // a projected volume is measured too
  const text = await page("metrics");
  const labels = 'namespace="default",persistentvolumeclaim="disk"';
  assert.ok(text.includes(`kubelet_volume_stats_used_bytes{${labels}} 400\n`), text);
  assert.ok(text.includes(`kubelet_volume_stats_health_status_abnormal{${labels}} 1\n`));
}

describe("device plug-ins", () => {
  const amounts = async (): Promise<string> => {
    const { capacity, allocatable } = (await json("node", NODE)).status;
    return `${allocatable[DEVICE_RESOURCE]} of ${capacity[DEVICE_RESOURCE]}`;
  };

  test("Register, ListAndWatch: capacity and allocatable of the Node follow health", async () => {
    const { dir } = cluster.machine;
    const data = join(dir, "lamps");
    await startPlugin(cluster, "./device-plugin.ts", join(dir, "kubelet"), data);
    await until(async () => (await amounts()) === "3 of 3", LONG);
    await writeFile(join(data, "broken", "lamp-1"), "");
    await until(async () => (await amounts()) === "2 of 3", LONG);
  }, 120_000);

  test("Allocate: a container has the preferred device, env, mount and annotation; kept over a kubelet kill", async () => {
    await cluster.apply(lampPod("lamp", 1));
    await running("lamp");
    const output = await nonEmpty(async () => (await cluster.kubectl("logs", "lamp")).trim());
    assert.equal(output, "lamp-3 started-lamp-3 device");
    const [lamp] = (await getPodResources(cluster, "lamp"))?.containers ?? [];
    assert.deepEqual(lamp?.devices[0]?.deviceIds, ["lamp-3"]);
    const allocatable = (await allocatableResources(cluster)).devices;
    assert.deepEqual(allocatable.flatMap(({ deviceIds }) => deviceIds).sort(), [
      "lamp-2",
      "lamp-3",
    ]);

    const resource = `resource_name="${DEVICE_RESOURCE}"`;
    await hasMetrics(
      `kubelet_device_plugin_registration_total{${resource}} 1`,
      `kubelet_device_plugin_alloc_duration_seconds_count{${resource}} 1`,
      'kubelet_pod_resources_endpoint_requests_get{server_api_version="v1"} 1',
      'kubelet_pod_resources_endpoint_requests_get_allocatable{server_api_version="v1"} 1',
    );

    await cluster.stopKubelet("SIGKILL");
    await rm(join(cluster.machine.dir, "lamps", "broken", "lamp-1"));
    cluster.startKubelet();
    await until(async () => (await amounts()) === "3 of 3", LONG);
    await cluster.apply(lampPod("second", 1));
    await running("second");
    const second = await nonEmpty(async () => (await cluster.kubectl("logs", "second")).trim());
    assert.match(second, /^lamp-2 /);

    await cluster.apply({
      ...lampPod("third", 2),
      spec: { ...lampPod("third", 2).spec, nodeName: NODE },
    });
    await until(async () => (await cluster.pod("third")).status.phase === "Failed", LONG);
    assert.equal((await cluster.pod("third")).status.reason, `OutOf${DEVICE_RESOURCE}`);
    await cluster.kubectl("delete", "pod", "lamp", "second", "third", "--grace-period=1");
  }, 180_000);
});

describe("DRA", () => {
  test("NodePrepareResources before the container starts, NodeUnprepareResources after the pod, over a kubelet kill", async () => {
    const { dir } = cluster.machine;
    const data = join(dir, "dra");
    await startPlugin(cluster, "./dra-driver.ts", join(dir, "kubelet"), data, "/var/run/cdi");
    const resource = { apiVersion: "resource.k8s.io/v1" };
    const device = { name: "dev-1" };
    await cluster.apply(
      {
        ...{ ...resource, kind: "DeviceClass", metadata: { name: DRA_DRIVER } },
        spec: { selectors: [{ cel: { expression: `device.driver == "${DRA_DRIVER}"` } }] },
      },
      {
        ...{ ...resource, kind: "ResourceSlice", metadata: { name: "slice-1" } },
        spec: {
          ...{ driver: DRA_DRIVER, nodeName: NODE, devices: [device] },
          pool: { name: NODE, generation: 1, resourceSliceCount: 1 },
        },
      },
      {
        ...{ ...resource, kind: "ResourceClaim", metadata: { name: "lamp-claim" } },
        spec: {
          devices: { requests: [{ name: "lamp", exactly: { deviceClassName: DRA_DRIVER } }] },
        },
      },
      {
        ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "claiming" } },
        spec: {
          terminationGracePeriodSeconds: 1,
          resourceClaims: [{ name: "light", resourceClaimName: "lamp-claim" }],
          containers: [
            { name: "main", image: BUSYBOX, resources: { claims: [{ name: "light" }] } },
          ],
        },
      },
    );
    await running("claiming");
    const noted = () => readFile(join(data, "calls"), "utf8");
    assert.equal(await noted(), "prepare lamp-claim\n");
    const [described] = (await getPodResources(cluster, "claiming"))?.containers ?? [];
    const [claimed] = described?.dynamicResources ?? [];
    assert.equal(claimed?.claimName, "lamp-claim");
    assert.equal(claimed?.claimResources[0]?.driverName, DRA_DRIVER);
    assert.equal(claimed?.claimResources[0]?.deviceName, "dev-1");
    const method = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources";
    const call = `driver_name="${DRA_DRIVER}",method_name="${method}",grpc_status_code="OK"`;
    await hasMetrics(
      `dra_grpc_operations_duration_seconds_count{${call}} 1`,
      `dra_resource_claims_in_use{driver_name="${DRA_DRIVER}"} 1`,
      'dra_resource_claims_in_use{driver_name="<any>"} 1',
    );

    await cluster.stopKubelet("SIGKILL");
    cluster.startKubelet();
    await cluster.kubectl("delete", "pod", "claiming", "--grace-period=1");
    assert.equal(await noted(), "prepare lamp-claim\nunprepare lamp-claim\n");
    await hasMetrics('dra_resource_claims_in_use{driver_name="<any>"} 0');
    const page = await metricsPage();
    const released = 'operation_name="UnprepareResources",is_error="false"';
    assert.match(
      page,
      new RegExp(`^dra_operations_duration_seconds_count{${released}} [1-9]`, "m"),
    );
  }, 120_000);
});

function lampPod(name: string, count: number) {
  const script =
    'echo "$LAMPS $(ls /lamps | grep started-$LAMPS) $(test -c /dev/lamp && echo device)"; sleep 3600';
  const resources = { limits: { [DEVICE_RESOURCE]: String(count) } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "main", image: BUSYBOX, command: ["sh", "-c", script], resources }],
    },
  };
}

/** The first answer that is not empty. */
async function nonEmpty(ask: () => Promise<string>): Promise<string> {
  let answer = "";
  await until(async () => {
    answer = await ask();
    return answer !== "";
  }, LONG);
  return answer;
}

interface Call {
  readonly name: string;
  readonly volumeId: string;
  readonly targetPath: string;
  readonly volumeContext: Readonly<Record<string, string>>;
  readonly capacityRange?: { readonly requiredBytes: number };
}

async function calls(): Promise<Call[]> {
  const text = await readFile(join(cluster.machine.dir, "csi", "calls"), "utf8");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Call);
}

/** The calls about one volume, in order. */
async function namesOf(volumeId: string): Promise<string[]> {
  return (await calls()).filter((call) => call.volumeId === volumeId).map(({ name }) => name);
}

async function mountsOf(uid: string): Promise<string> {
  const { stdout } = await cluster.machine.run("cat", ["/proc/self/mountinfo"]);
  return stdout
    .split("\n")
    .filter((line) => line.includes(`/pods/${uid}/`))
    .join("\n");
}

interface Attachment {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly source: { readonly persistentVolumeName: string } };
  readonly status?: { readonly attached: boolean };
}

async function attachments(): Promise<readonly Attachment[]> {
  const text = await cluster.kubectl("get", "volumeattachments", "-o", "json");
  return (JSON.parse(text) as { items: Attachment[] }).items;
}

function metricsPage(): Promise<string> {
  return cluster.kubectl("get", "--raw", `/api/v1/nodes/${NODE}/proxy/metrics`);
}

async function hasMetrics(...wanted: readonly string[]): Promise<void> {
  const lines = (await metricsPage()).split("\n");
  for (const line of wanted) assert.ok(lines.includes(line), line);
}

/** What the external attacher of a driver does. */
async function attach(volume: string): Promise<void> {
  const find = async () =>
    (await attachments()).find(({ spec }) => spec.source.persistentVolumeName === volume);
  await until(async () => (await find()) !== undefined, LONG);
  const name = (await find())!.metadata.name;
  const status = { status: { attached: true, attachmentMetadata: { slot: "1" } } };
  const patch = ["--subresource=status", "--type=merge", "-p", JSON.stringify(status)];
  await cluster.kubectl("patch", "volumeattachment", name, ...patch);
}

function persistent(name: string, more: object): object[] {
  const shared = { accessModes: ["ReadWriteOnce"], storageClassName: "", ...more };
  return [
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name },
      spec: {
        ...shared,
        capacity: { storage: "1Gi" },
        claimRef: { namespace: "default", name },
        csi: { driver: CSI_DRIVER, volumeHandle: name, volumeAttributes: { shape: "round" } },
      },
    },
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name },
      spec: { ...shared, volumeName: name, resources: { requests: { storage: "1Gi" } } },
    },
  ];
}

function pod(name: string, volume: object, script: string) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 1,
      securityContext: { fsGroup: 2000 },
      containers: [
        {
          ...{ name: "main", image: BUSYBOX, command: ["sh", "-c", script] },
          volumeMounts: [{ name: "data", mountPath: "/data" }],
        },
      ],
      volumes: [volume],
    },
  };
}

async function running(name: string): Promise<void> {
  await until(async () => (await cluster.pod(name)).status.phase === "Running", LONG).catch(
    async () => {
      throw new Error(`${name} does not run: ${await cluster.kubectl("describe", "pod", name)}`);
    },
  );
}

// biome-ignore lint/suspicious/noExplicitAny: any object of the API
async function json(kind: string, name: string): Promise<any> {
  return JSON.parse(await cluster.kubectl("get", kind, name, "-o", "json"));
}
