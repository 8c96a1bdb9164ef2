/** `--pod-network=vxlan` of the built program: pods of two nodes reach each other through the tunnel only. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { PROGRAM } from "../../built-program.ts";
import { until } from "../node/eventually.ts";
import {
  askEach,
  buildWebImage,
  type MachineCluster,
  prepareMachine,
  webObjects,
  webPods,
} from "./machine-cluster.ts";

describe("k8ts up --nodes 2 --pod-network=vxlan --proxy-mode=iptables", () => {
  let cluster: MachineCluster;

  beforeAll(async () => {
    cluster = await prepareMachine();
    await cluster.k8ts("up", "--nodes", "2", "--pod-network=vxlan", "--proxy-mode=iptables");
    await buildWebImage(cluster);
    const file = join(cluster.machine.dir, "web.json");
    writeFileSync(file, webObjects());
    await cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=120s");
    await cluster.kubectl("apply", "-f", file);
    await cluster.kubectl("rollout", "status", "daemonset/web", "--timeout=120s");
  }, 300_000);

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  test("packets take the tunnel, keep their senders, and the MTU leaves room for it", async () => {
    const { pid } = JSON.parse(await cluster.k8ts("node", "ls", "-o", "json"))[0] as {
      pid: number;
    };
    const onNode = (...args: string[]) => cluster.run("nsenter", "-t", String(pid), "-n", ...args);
    const pods = await webPods(cluster);
    const remote = pods.find(({ node }) => node !== "node-1")!;
    assert.match(await onNode("ip", "route", "get", remote.ip), /dev k8tx-/);
    const service = "jsonpath={.spec.clusterIP}";
    const vip = await cluster.kubectl("get", "service", "web", "-o", service);
    assert.match(await onNode("iptables-save", "-t", "nat"), new RegExp(`-d ${vip}/32 `));
    for (const { name, ip } of pods) {
      // The proxy's rules lead to pods of both nodes.
      const asked = askEach(Array.from({ length: 6 }, () => `${vip}:80`));
      const answers = await cluster.kubectl("exec", name, "--", "sh", "-c", asked);
      assert.match(answers, /^(?:10\.[\d.]+\n){6}$/, `from ${name}`);
      const script = `${askEach(pods.map((pod) => `${pod.ip}:8080`))}; cat /sys/class/net/eth0/mtu`;
      const seen = await cluster.kubectl("exec", name, "--", "sh", "-c", script);
      assert.deepEqual(seen.trim().split("\n"), [ip, ip, "1450"], `from ${name}`);
    }
    // Without the tunnel there is no way: it is what carried the packets.
    await onNode("sh", "-c", "ip link set $(ip -br link | grep -o 'k8tx-[0-9a-f]*') down");
    const local = pods.find(({ node }) => node === "node-1")!;
    const cut = `nc -w 1 ${remote.ip} 8080 </dev/null; echo ended $?`;
    assert.match(await cluster.kubectl("exec", local.name, "--", "sh", "-c", cut), /ended 1/);
  }, 120_000);

  test("DNS as a Deployment from an image of the program itself: pods of every node resolve names", async () => {
    const archive = join(cluster.machine.dir, "k8ts.tar");
    const clusterIp = ["get", "service", "-n", "kube-system", "kube-dns", "-o"];
    const address = await cluster.kubectl(...clusterIp, "jsonpath={.spec.clusterIP}");
    const flags = ["--image-archive", archive, "--cluster-ip", address];
    const manifest = await cluster.run(process.execPath, PROGRAM, "dns", "manifest", ...flags);
    await cluster.k8ts("image", "import", archive);
    const file = join(cluster.machine.dir, "dns.yaml");
    writeFileSync(file, manifest);
    await cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", file);
    const deployment = ["deployment/coredns", "-n", "kube-system", "--timeout=120s"];
    await cluster.kubectl("rollout", "status", ...deployment);
    const dnsPods = ["get", "pods", "-n", "kube-system", "-l", "k8s-app=kube-dns", "-o"];
    const ips = (await cluster.kubectl(...dnsPods, "jsonpath={.items[*].status.podIP}")).split(" ");
    const selector = ["-l", "kubernetes.io/service-name=kube-dns", "-o"];
    const path = "jsonpath={.items[*].endpoints[*].addresses[0]}";
    const slices = ["get", "endpointslices", "-n", "kube-system", ...selector, path];
    await until(
      async () => {
        const behind = (await cluster.kubectl(...slices)).split(" ");
        return ips.every((ip) => behind.includes(ip));
      },
      { timeoutMs: 60_000, everyMs: 200 },
    );
    for (const { name } of await webPods(cluster)) {
      for (const server of [address, ...ips]) {
        const script = `nslookup web.default.svc.cluster.local ${server}`;
        const answer = await cluster.kubectl("exec", name, "--", "sh", "-c", script);
        assert.match(answer, /Name:\s+web\.default\.svc\.cluster\.local/, `${name} ${server}`);
      }
    }
  }, 240_000);

  test("down leaves no process, link, route or rule", async () => {
    await cluster.k8ts("down");
    assert.doesNotMatch(
      await cluster.run("ps", "-eo", "args"),
      /containerd|httpd|unshare|agent\.json/,
    );
    assert.doesNotMatch(await cluster.run("ip", "-brief", "link"), /k8t/);
    assert.equal(await cluster.run("ip", "route", "show", "proto", "158"), "");
    assert.doesNotMatch(await cluster.run("iptables-save"), /K8TS/);
  }, 120_000);
});
