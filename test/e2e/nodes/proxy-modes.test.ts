/** `k8ts up --nodes 3` of the built program with each of the other modes of the service proxy. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { until } from "../node/eventually.ts";
import {
  askEach,
  buildWebImage,
  type MachineCluster,
  prepareMachine,
  webObjects,
  webPods,
} from "./machine-cluster.ts";

const NODES = ["node-1", "node-2", "node-3"];
const ALL_ANSWER = /^(?:10\.[\d.]+\n){3}$/;
const LONG = { timeoutMs: 60_000, everyMs: 200 };

describe.each(["iptables", "userspace"])("k8ts up --nodes 3 --proxy-mode=%s", (mode) => {
  let cluster: MachineCluster;

  beforeAll(async () => {
    cluster = await prepareMachine();
    await cluster.k8ts("up", "--nodes", "3", `--proxy-mode=${mode}`);
    await buildWebImage(cluster);
    const file = join(cluster.machine.dir, "web.json");
    writeFileSync(file, webObjects());
    await cluster.kubectl("apply", "-f", file);
    await cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=120s");
    await cluster.kubectl("rollout", "status", "daemonset/web", "--timeout=120s");
  }, 300_000);

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  test("pod → Service on every pair of nodes: a Service for the pod of each node answers on all of them", async () => {
    const pods = await webPods(cluster);
    assert.deepEqual(pods.map(({ node }) => node).sort(), NODES);
    const targets: string[] = [];
    for (const { name, node } of pods) {
      await cluster.kubectl("label", "pod", name, `on=${node}`);
      const service = ["create", "service", "clusterip", `on-${node}`, "--tcp=80:8080"];
      await cluster.kubectl(...service);
      await cluster.kubectl("set", "selector", "service", `on-${node}`, `on=${node}`);
      const path = "jsonpath={.spec.clusterIP}";
      targets.push(`${await cluster.kubectl("get", "service", `on-${node}`, "-o", path)}:80`);
      const slice = ["endpointslice", "-l", `kubernetes.io/service-name=on-${node}`];
      const condition = "--for=jsonpath={.endpoints[0].conditions.ready}=true";
      await cluster.kubectl("wait", ...slice, condition, "--timeout=60s");
    }
    for (const { name } of pods) {
      const ask = ["exec", name, "--", "sh", "-c", askEach(targets)];
      // A rule may come a moment after the EndpointSlice.
      await until(async () => ALL_ANSWER.test(await cluster.kubectl(...ask)), LONG);
    }
  }, 180_000);

  test("NodePort of every node answers from pods of every node and from the machine", async () => {
    const path = `jsonpath={.items[*].status.addresses[?(@.type=="InternalIP")].address}`;
    const nodes = (await cluster.kubectl("get", "nodes", "-o", path)).split(" ");
    const targets = nodes.map((address) => `${address}:30080`);
    assert.equal(targets.length, NODES.length);
    for (const { name } of await webPods(cluster)) {
      const seen = await cluster.kubectl("exec", name, "--", "sh", "-c", askEach(targets));
      assert.match(seen, ALL_ANSWER, `from ${name}`);
    }
    const fromMachine = await cluster.run("busybox", "sh", "-c", askEach(targets));
    assert.match(fromMachine, ALL_ANSWER);
  }, 120_000);

  test("pods of every node resolve the Service by DNS", async () => {
    const path = "jsonpath={.spec.clusterIP}";
    const vip = await cluster.kubectl("get", "service", "web", "-o", path);
    for (const { name } of await webPods(cluster)) {
      const script = "nslookup web.default.svc.cluster.local";
      const answer = await cluster.kubectl("exec", name, "--", "sh", "-c", script);
      assert.ok(answer.includes(`Address: ${vip}`), answer);
    }
  }, 120_000);
});
