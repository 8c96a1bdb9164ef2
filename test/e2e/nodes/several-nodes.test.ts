/** `k8ts up --nodes 3` of the built program: everything that crosses nodes is real. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { nodePaths } from "#kubelet/containerd/node-paths.ts";
import { until } from "../node/eventually.ts";
import {
  askEach,
  balancedObjects,
  buildWebImage,
  type MachineCluster,
  prepareMachine,
  rollingObjects,
  webObjects,
  webPods,
} from "./machine-cluster.ts";
import { startLoad } from "./service-load.ts";

const NODES = ["node-1", "node-2", "node-3"];
/** Conditions are waited for, never times. */
const LONG = { timeoutMs: 120_000, everyMs: 200 };

interface SliceView {
  readonly endpoints?: readonly {
    readonly nodeName: string;
    readonly conditions: { readonly ready: boolean };
  }[];
}

describe("k8ts up --nodes 3", () => {
  let cluster: MachineCluster;

  beforeAll(async () => {
    cluster = await prepareMachine();
    await cluster.k8ts("up", "--nodes", "3", "--node-monitor-grace-period", "20s");
    await buildWebImage(cluster);
    await cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=120s");
    await apply("web", webObjects());
    await cluster.kubectl("rollout", "status", "daemonset/web", "--timeout=120s");
  }, 300_000);

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  const inPod = (pod: string, script: string): Promise<string> =>
    cluster.kubectl("exec", pod, "--", "sh", "-c", script);

  const apply = async (name: string, objects: string): Promise<void> => {
    const file = join(cluster.machine.dir, `${name}.json`);
    writeFileSync(file, objects);
    await cluster.kubectl("apply", "-f", file);
  };

  const nodeAddresses = async (): Promise<readonly string[]> => {
    const path = `{.items[*].status.addresses[?(@.type=="InternalIP")].address}`;
    return (await cluster.kubectl("get", "nodes", "-o", `jsonpath=${path}`)).split(" ");
  };

  test("pods reach pods on every pair of nodes and are seen by their own addresses (no NAT)", async () => {
    const pods = await webPods(cluster);
    assert.deepEqual(pods.map(({ node }) => node).sort(), NODES);
    const targets = pods.map(({ ip }) => `${ip}:8080`);
    for (const { name, ip } of pods) {
      const seen = await inPod(name, askEach(targets));
      assert.deepEqual(seen.trim().split("\n"), [ip, ip, ip], `from ${name}`);
    }
  }, 120_000);

  test("a Service's cluster IP and the NodePort of every node answer from pods of every node", async () => {
    const clusterIp = await cluster.kubectl(
      "get",
      "svc",
      "web",
      "-o",
      "jsonpath={.spec.clusterIP}",
    );
    const nodes = await nodeAddresses();
    assert.equal(nodes.length, NODES.length);
    const ports = nodes.map((address) => `${address}:30080`);
    for (const { name } of await webPods(cluster)) {
      const seen = await inPod(name, askEach([`${clusterIp}:80`, ...ports]));
      assert.match(seen, /^(?:10\.\d+\.\d+\.\d+\n){4}$/, `from ${name}`);
    }
    // Debian's busybox is also on the machine itself.
    const fromMachine = await cluster.run("busybox", "sh", "-c", askEach(ports));
    assert.match(fromMachine, /^(?:10\.\d+\.\d+\.\d+\n){3}$/);
  }, 120_000);

  test("pods of every node resolve Services by DNS", async () => {
    const clusterIp = await cluster.kubectl(
      "get",
      "svc",
      "web",
      "-o",
      "jsonpath={.spec.clusterIP}",
    );
    for (const { name } of await webPods(cluster)) {
      const answer = await inPod(name, "nslookup web.default.svc.cluster.local");
      assert.ok(answer.includes(`Address: ${clusterIp}`), answer);
    }
  }, 120_000);

  test("a LoadBalancer with externalTrafficPolicy Local answers on the machine, keeps the client's address and follows its pod", async () => {
    await apply("balanced", balancedObjects("node-2"));
    const path = "{.status.loadBalancer.ingress[0].ip}";
    const status = ["get", "service", "balanced", "-o", `jsonpath=${path}`];
    await until(async () => (await cluster.kubectl(...status)) !== "", LONG);
    const address = await cluster.kubectl(...status);
    const ask = (): Promise<string> =>
      cluster.run("busybox", "sh", "-c", askEach([`${address}:80`]));
    const client = async (): Promise<string | undefined> =>
      /src (\S+)/.exec((await cluster.tryRun("ip", "route", "get", address)).stdout)?.[1];
    const answers = async (): Promise<boolean> => (await ask()).trim() === (await client());
    await until(answers, LONG);
    const [pod] = await webPods(cluster);
    assert.match(await inPod(pod!.name, askEach([`${address}:80`])), /^10\./);
    await cluster.kubectl("delete", "pod/on-node-2");
    await apply("balanced", balancedObjects("node-3"));
    await until(answers, LONG);
    await cluster.kubectl("delete", "service/balanced", "pod/on-node-3");
    const isGone = async (): Promise<boolean> =>
      /unreachable|No route/i.test((await cluster.tryRun("ip", "route", "get", address)).stderr);
    await until(isGone, LONG);
  }, 300_000);

  test("packets to unused pod and service addresses are dropped on the node", async () => {
    const [pod] = await webPods(cluster);
    for (const address of ["10.244.200.1", "10.111.255.254"]) {
      const out = await cluster.tryRun("ip", "route", "get", address);
      assert.match(out.stderr, /unreachable|No route/i, out.stdout);
      const caught = await inPod(pod!.name, `nc -w 3 ${address} 80 </dev/null; echo ended $?`);
      assert.match(caught, /ended 1/);
    }
  }, 120_000);

  test("rollout restart of a Deployment under load through a Service loses no request", async () => {
    await apply("rolling", rollingObjects());
    await cluster.kubectl("rollout", "status", "deployment/rolling", "--timeout=120s");
    const targets = (await nodeAddresses()).map((address) => `${address}:30081`);
    const count = ["get", "pods", "-l", "app=rolling", "-o", "jsonpath={.items[*].metadata.uid}"];
    const before = (await cluster.kubectl(...count)).split(" ");
    const answers = (): Promise<string> => cluster.run("busybox", "sh", "-c", askEach(targets));
    await until(async () => /^(?:10[.\d]+\n){3}$/.test(await answers()), LONG); // rules are written
    const stopLoad = await startLoad(cluster.machine, "rolling", targets);
    await cluster.kubectl("rollout", "restart", "deployment/rolling");
    await cluster.kubectl("rollout", "status", "deployment/rolling", "--timeout=180s");
    const { answered, failed } = await stopLoad();
    assert.deepEqual(failed, []);
    assert.ok(answered > 20, `${answered} requests were answered`);
    const running = [...count, "--field-selector", "status.phase=Running"];
    const after = (await cluster.kubectl(...running)).split(" ");
    assert.ok(after.some((uid) => !before.includes(uid)));
    await cluster.kubectl("delete", "deployment/rolling", "service/rolling", "--wait=false");
  }, 300_000);

  test("node stop: the endpoints of the node leave the Service and requests go on; node start: they come back", async () => {
    const ready = async (): Promise<readonly string[]> => {
      const selector = ["-l", "kubernetes.io/service-name=web"];
      const text = await cluster.kubectl("get", "endpointslices", ...selector, "-o", "json");
      const { items } = JSON.parse(text) as { items: readonly SliceView[] };
      const endpoints = items.flatMap((slice) => slice.endpoints ?? []);
      return endpoints.filter((one) => one.conditions.ready).map(({ nodeName }) => nodeName);
    };
    await until(async () => (await ready()).length === NODES.length, LONG);
    await cluster.k8ts("node", "stop", "node-2");
    const list = await cluster.k8ts("node", "ls");
    const [, stopped = ""] = /node-2 +(\S+) +stopped/.exec(list) ?? assert.fail(list);
    await until(async () => !(await ready()).includes("node-2"), LONG);
    const others = (await nodeAddresses()).filter((address) => !stopped.includes(address));
    const targets = others.map((address) => `${address}:30080`);
    const asked = askEach(Array.from({ length: 10 }, () => targets).flat());
    const answers = async (): Promise<number> =>
      (await cluster.run("busybox", "sh", "-c", asked)).split("\n").filter(Boolean).length;
    const all = 10 * targets.length;
    await until(async () => (await answers()) === all, LONG); // the rules follow the endpoints
    assert.equal(await answers(), all, "requests go on");
    await cluster.k8ts("node", "start", "node-2");
    await cluster.kubectl("wait", "--for=condition=Ready", "node/node-2", "--timeout=120s");
    await until(async () => (await ready()).includes("node-2"), LONG);
    const pods = await webPods(cluster);
    const back = pods.find(({ node }) => node === "node-2")!;
    const seen = await inPod(back.name, askEach(pods.map(({ ip }) => `${ip}:8080`)));
    assert.deepEqual(seen.trim().split("\n"), [back.ip, back.ip, back.ip]);
  }, 300_000);

  test("node add, partition, slow and rm at run time; unknown names are refused", async () => {
    await cluster.k8ts("node", "add", "extra");
    await cluster.kubectl("wait", "--for=condition=Ready", "node/extra", "--timeout=120s");
    const list = await cluster.k8ts("node", "ls");
    const [, address = ""] = /extra +(\S+) +running/.exec(list) ?? assert.fail(list);
    await cluster.run("busybox", "nc", "-w", "10", address, "10250", "-e", "true");
    await cluster.k8ts("node", "partition", "extra");
    const cut = await cluster.tryRun("busybox", "nc", "-w", "1", address, "10250", "-e", "true");
    assert.notEqual(cut.exitCode, 0, "a node that is cut off does not answer");
    await cluster.k8ts("node", "partition", "extra", "--heal");
    await until(async () => {
      const { exitCode } = await cluster.tryRun(
        "busybox",
        "nc",
        "-w",
        "1",
        address,
        "10250",
        "-e",
        "true",
      );
      return exitCode === 0;
    }, LONG);
    await cluster.k8ts("node", "slow", "extra", "--rate", "1mbit");
    assert.match(await cluster.k8ts("node", "ls"), /extra +\S+ +slow/);
    await cluster.k8ts("node", "rm", "extra");
    assert.doesNotMatch(await cluster.kubectl("get", "nodes", "-o", "name"), /extra/);
    await assert.rejects(cluster.k8ts("node", "stop", "extra"), /there is no such node: extra/);
  }, 300_000);

  test("kill -9 and down: no process, link, route, rule, mount or cgroup is left", async () => {
    const { pid } = JSON.parse(readFileSync(join(cluster.data, "k8ts.pid"), "utf8")) as {
      pid: number;
    };
    await cluster.run("kill", "-9", String(pid));
    await cluster.k8ts("down");
    assert.doesNotMatch(
      await cluster.run("ps", "-eo", "args"),
      /containerd|httpd|unshare|agent\.json/,
    );
    assert.doesNotMatch(await cluster.run("ip", "-brief", "link"), /k8t/);
    assert.equal(await cluster.run("ip", "route", "show", "proto", "158"), "");
    assert.doesNotMatch(await cluster.run("iptables-save"), /K8TS|KUBE|CNI/);
    assert.doesNotMatch(await cluster.run("cat", "/proc/mounts"), /k8ts\/|netns\/cni/);
    assert.equal(
      await cluster.run("sh", "-c", "ls -A /run/k8ts /run/netns | grep -v : || true"),
      "\n",
    );
    const roots = NODES.map((node) => nodePaths(cluster.data, node).cgroupRoot.slice(1));
    const groups = readdirSync("/sys/fs/cgroup").flatMap((tree) =>
      readdirSync(join("/sys/fs/cgroup", tree)).filter((name) => roots.includes(name)),
    );
    assert.deepEqual(groups, []);
  }, 120_000);
});
