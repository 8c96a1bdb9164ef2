/** `--pod-network=vxlan` of the built program: pods of two nodes reach each other through the tunnel only. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import {
  askEach,
  buildWebImage,
  type MachineCluster,
  prepareMachine,
  webObjects,
  webPods,
} from "./machine-cluster.ts";

describe("k8ts up --nodes 2 --pod-network=vxlan", () => {
  let cluster: MachineCluster;

  beforeAll(async () => {
    cluster = await prepareMachine();
    await cluster.k8ts("up", "--nodes", "2", "--pod-network=vxlan");
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
    for (const { name, ip } of pods) {
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
