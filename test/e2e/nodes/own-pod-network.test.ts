/**
 * `--pod-network=none` of the built program: a DaemonSet brings the pod network, as Flannel's and Calico's
 * do. It installs a CNI plug-in and its configuration at the usual paths of a machine and makes the routes.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import {
  askEach,
  buildWebImage,
  IMAGE,
  type MachineCluster,
  prepareMachine,
  webObjects,
  webPods,
} from "./machine-cluster.ts";

interface NodeView {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly podCIDR: string };
  readonly status: {
    readonly addresses: readonly { readonly type: string; readonly address: string }[];
    readonly conditions: readonly { readonly type: string; readonly message: string }[];
  };
}

describe("k8ts up --nodes 2 --pod-network=none", () => {
  let cluster: MachineCluster;

  beforeAll(async () => {
    cluster = await prepareMachine();
    await cluster.k8ts("up", "--nodes", "2", "--pod-network=none");
    await buildWebImage(cluster);
  }, 300_000);

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  const apply = async (name: string, objects: string): Promise<void> => {
    const file = join(cluster.machine.dir, `${name}.json`);
    writeFileSync(file, objects);
    await cluster.kubectl("apply", "-f", file);
  };

  test("nodes are not Ready without an add-on: cni plugin not initialized", async () => {
    for (const { status } of await nodes(cluster)) {
      const ready = status.conditions.find(({ type }) => type === "Ready");
      assert.match(ready?.message ?? "", /cni plugin not initialized/);
    }
    assert.doesNotMatch(await cluster.run("ip", "route"), /^10\.244\./m); // the range of pods
  }, 60_000);

  test("a DaemonSet with hostPath /opt/cni/bin and /etc/cni/net.d brings the pod network", async () => {
    await apply("add-on", addOn(await nodes(cluster)));
    await cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=120s");
    await apply("web", webObjects());
    await cluster.kubectl("rollout", "status", "daemonset/web", "--timeout=120s");
    const pods = await webPods(cluster);
    assert.equal(pods.length, 2);
    const path = "jsonpath={.spec.clusterIP}";
    const vip = await cluster.kubectl("get", "service", "web", "-o", path);
    for (const { name, ip } of pods) {
      const script = `${askEach(pods.map((pod) => `${pod.ip}:8080`))}; cat /sys/class/net/eth0/mtu`;
      const seen = await cluster.kubectl("exec", name, "--", "sh", "-c", script);
      assert.deepEqual(seen.trim().split("\n"), [ip, ip, "1400"], `from ${name}`);
      const asked = askEach(Array.from({ length: 6 }, () => `${vip}:80`));
      const answers = await cluster.kubectl("exec", name, "--", "sh", "-c", asked);
      assert.match(answers, /^(?:10\.[\d.]+\n){6}$/, `from ${name}`);
    }
  }, 240_000);

  test("what the add-on installed stays inside its node: the machine's own CNI folders are as before", async () => {
    const listed = await cluster.tryRun("ls", "/etc/cni/net.d", "/opt/cni/bin");
    assert.doesNotMatch(listed.stdout, /10-own\.conflist|own-bridge/);
  });
});

async function nodes({ kubectl }: MachineCluster): Promise<readonly NodeView[]> {
  return (JSON.parse(await kubectl("get", "nodes", "-o", "json")) as { items: NodeView[] }).items;
}

/** Installs the plug-in `own-bridge`, which is the standard one with an MTU of 1400, and the routes. */
function addOn(all: readonly NodeView[]): string {
  const files = all.flatMap(({ metadata: { name }, spec }) => {
    const routes = all
      .filter((other) => other.metadata.name !== name)
      .map((other) => {
        const via = other.status.addresses.find(({ type }) => type === "InternalIP")?.address;
        return `busybox ip route replace ${other.spec.podCIDR} via ${via}`;
      });
    const plugin = {
      ...{ type: "own-bridge", bridge: "own0", isGateway: true, hairpinMode: true, mtu: 1400 },
      ipam: {
        type: "host-local",
        ranges: [[{ subnet: spec.podCIDR }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    };
    const conflist = { cniVersion: "0.4.0", name: "own", plugins: [plugin] };
    return [
      [`${name}.conflist`, JSON.stringify(conflist)],
      [`${name}.sh`, routes.join("\n")],
    ];
  });
  const install = [
    "set -e",
    `printf '#!/bin/sh\\nexec "\${0%%/*}/bridge"\\n' > /host/bin/own-bridge`,
    "busybox chmod 755 /host/bin/own-bridge",
    'sh "/files/$NODE.sh"',
    'cat "/files/$NODE.conflist" > /host/conf/10-own.conflist',
    "exec sleep 1000000",
  ];
  const container = {
    ...{ name: "install", image: IMAGE, command: ["sh", "-c", install.join("\n")] },
    env: [{ name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
    securityContext: { privileged: true },
    volumeMounts: [
      { name: "bin", mountPath: "/host/bin" },
      { name: "conf", mountPath: "/host/conf" },
      { name: "files", mountPath: "/files" },
    ],
  };
  const spec = {
    ...{ hostNetwork: true, containers: [container], terminationGracePeriodSeconds: 1 },
    tolerations: [{ operator: "Exists", effect: "NoSchedule" }],
    volumes: [
      { name: "bin", hostPath: { path: "/opt/cni/bin" } },
      { name: "conf", hostPath: { path: "/etc/cni/net.d" } },
      { name: "files", configMap: { name: "own-network" } },
    ],
  };
  const labels = { app: "own-network" };
  const metadata = { name: "own-network", namespace: "kube-system" };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "List",
    items: [
      { apiVersion: "v1", kind: "ConfigMap", metadata, data: Object.fromEntries(files) },
      {
        ...{ apiVersion: "apps/v1", kind: "DaemonSet", metadata },
        spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
      },
    ],
  });
}
