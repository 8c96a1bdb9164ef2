/** `k8ts proxy --proxy-mode userspace` with real packets: a node with two pods and a client outside. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { buildProgram, PROGRAM } from "../../built-program.ts";
import { until } from "../node/eventually.ts";
import {
  NODE_IP,
  NODE_IP_V6,
  type NodeNetwork,
  type Place,
  POD_IPS,
  POD_IPS_V6,
  startNodeNetwork,
} from "./node-network.ts";

const MISSING = ["nft", "conntrack", "busybox"].flatMap((p) => missingProgram(p) ?? []);
const LIMIT = { timeoutMs: 60_000 };
const TIMEOUT = 300_000;

describe.skipIf(MISSING.length > 0)("proxy mode userspace", () => {
  let network: NodeNetwork;

  const apply = async (path: string, object: { metadata: { name: string } }): Promise<void> => {
    const data = join(network.machine.dir, "up");
    const url = `https://127.0.0.1:6443${path}/${object.metadata.name}?fieldManager=e2e&force=true`;
    const type = "content-type: application/apply-patch+yaml";
    const command = `curl -gsS --fail-with-body --cacert ${data}/pki/ca.crt -H "Authorization: Bearer e2e" -H '${type}' -X PATCH --data-binary @- '${url}'`;
    const input = JSON.stringify(object);
    const { exitCode, stdout } = await network.machine.run("sh", ["-c", command], input);
    assert.equal(exitCode, 0, stdout);
  };

  const start = (args: readonly string[]): (() => string) => {
    const child = network.machine.start(process.execPath, [PROGRAM, ...args]);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk) => {
        output += chunk;
      });
    }
    return () => output;
  };

  const service = async (
    name: string,
    spec: Record<string, unknown>,
    addresses: readonly string[],
    { protocol = "TCP", port = 8080 } = {},
  ): Promise<void> => {
    await apply("/api/v1/namespaces/default/services", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      ...{ spec: { ports: [{ name: "p", port: 80, protocol }], ...spec } },
    } as never);
    await apply("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name, labels: { "kubernetes.io/service-name": name } },
      addressType: addresses[0]?.includes(":") ? "IPv6" : "IPv4",
      endpoints: addresses.map((ip) => ({ addresses: [ip], nodeName: "node1" })),
      ports: [{ name: "p", port, protocol }],
    } as never);
  };

  /** Waits until all of these pods, and no others, answer. */
  const untilAnswers = (from: Place, host: string, pods: readonly string[]): Promise<void> =>
    until(async () => {
      const seen = new Set<string>();
      for (let i = 0; i < 6; i++) seen.add((await network.get(from, host)).text.split(" ")[0]!);
      return [...seen].sort().join() === pods.join();
    }, LIMIT).catch((error) => assert.fail(`${from} ${host}: ${error}`));

  beforeAll(async () => {
    buildProgram();
    network = await startNodeNetwork();
    const data = join(network.machine.dir, "up");
    const tokens = join(network.machine.dir, "tokens.csv");
    await network.sh("node", `echo 'e2e,admin,1,"system:masters"' > ${tokens}`);
    const said = start([
      ...["up", "--foreground", "--no-node", "--data", data, "--token-auth-file", tokens],
      ...["--service-cluster-ip-range", "10.96.0.0/16,fd96::/112"],
    ]);
    await until(() => said().includes("KUBECONFIG"), LIMIT).catch(() => assert.fail(said()));
    const both = [POD_IPS.pod1, POD_IPS.pod2];
    const nodePort = { ports: [{ name: "p", port: 80, nodePort: 30080 }], type: "NodePort" };
    await service("web", { clusterIP: "10.96.0.10", ...nodePort }, both);
    await service("sticky", { clusterIP: "10.96.0.11", sessionAffinity: "ClientIP" }, both);
    await service("empty", { clusterIP: "10.96.0.12" }, []);
    const udp = { protocol: "UDP", port: 5353 };
    await service("dns", { clusterIP: "10.96.0.17" }, [POD_IPS.pod1], udp);
    const six = { ports: [{ name: "p", port: 80, nodePort: 30086 }], type: "NodePort" };
    const ipFamilies = { clusterIP: "fd96::10", ipFamilies: ["IPv6"] };
    await service("six", { ...ipFamilies, ...six }, [POD_IPS_V6.pod1]);
    const proxy = start([
      ...["proxy", "--proxy-mode", "userspace", "--no-network-policy"],
      ...["--kubeconfig", join(data, "controller-manager.kubeconfig")],
      ...["--hostname-override", "node1", "--iptables-sync-period", "500ms"],
      ...["--nodeport-addresses", "192.168.77.0/24,fd77::/64"],
    ]);
    await until(() => proxy().includes("service rules are written"), LIMIT).catch(() =>
      assert.fail(proxy()),
    );
  }, TIMEOUT);
  afterAll(() => network?.[Symbol.asyncDispose]());

  test(
    "ClusterIP and NodePort: both endpoints answer pods, the node and clients outside",
    async () => {
      for (const [from, host] of [
        ["pod1", "10.96.0.10"],
        ["node", "10.96.0.10"],
        ["outside", "10.96.0.10"],
        ["outside", `${NODE_IP}:30080`],
      ] as const) {
        await untilAnswers(from, host, ["pod1", "pod2"]);
      }
    },
    TIMEOUT,
  );

  test(
    "IPv6, UDP and sessionAffinity ClientIP",
    async () => {
      await untilAnswers("pod2", "[fd96::10]", ["pod1"]);
      await untilAnswers("outside", `[${NODE_IP_V6}]:30086`, ["pod1"]);
      const udp = (): Promise<string> => network.udp("outside", "10.96.0.17", 80, 40_000);
      await until(async () => (await udp()) === "pod1", LIMIT);
      const seen = new Set<string>();
      for (let i = 0; i < 8; i++) seen.add((await network.get("pod1", "10.96.0.11", 20)).text);
      assert.equal(seen.size, 1);
    },
    TIMEOUT,
  );

  test(
    "no endpoints and unused addresses of the service range are rejected; ports of the proxy are closed",
    async () => {
      for (const host of ["10.96.0.12", "10.96.200.200", "10.96.0.10:81"]) {
        await until(async () => (await network.get("pod1", host)).exitCode === 7, LIMIT);
      }
      const rules = await network.sh("node", "nft list set ip k8ts-userspace-proxy listeners");
      const port = /tcp \. (\d+)/.exec(rules)?.[1];
      assert.ok(port !== undefined, rules);
      assert.equal((await network.get("outside", `${NODE_IP}:${port}`, 1)).exitCode, 28);
    },
    TIMEOUT,
  );

  test(
    "endpoints that change take new connections; flushed rules are written again; the end removes them",
    async () => {
      await service("web", { clusterIP: "10.96.0.10" }, [POD_IPS.pod2]);
      await untilAnswers("pod1", "10.96.0.10", ["pod2"]);
      await network.sh("node", "nft flush ruleset");
      await untilAnswers("pod1", "10.96.0.10", ["pod2"]);
      await network.sh("node", "kill -TERM $(pgrep -f 'k8ts.js proxy' | head -1)");
      const tables = (): Promise<string> => network.sh("node", "nft list tables");
      await until(async () => !(await tables()).includes("userspace"), LIMIT);
      const left = (): Promise<string> => network.sh("node", "pgrep -f 'k8ts.js [p]roxy' || true");
      await until(async () => (await left()) === "", LIMIT);
    },
    TIMEOUT,
  );
});
