/** `k8ts proxy` with real packets, in each mode: a node with two pods and a client outside. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { buildProgram, PROGRAM } from "../../built-program.ts";
import { until } from "../node/eventually.ts";
import {
  NODE_IP,
  NODE_IP_V6,
  type NodeNetwork,
  POD_IPS,
  POD_IPS_V6,
  startNodeNetwork,
} from "./node-network.ts";
import { RECEIVE_INIT, SEND_INIT } from "./sctp.ts";

const MISSING = ["nft", "iptables", "conntrack", "busybox"].flatMap((p) => missingProgram(p) ?? []);
const SERVER = "https://127.0.0.1:6443";

const SERVICES = "/api/v1/namespaces/default/services";
const LONG = { timeoutMs: 60_000 };

describe.skipIf(MISSING.length > 0).each(["nftables", "iptables"])("proxy mode %s", (mode) => {
  let network: NodeNetwork;
  let proxy: ChildProcess;
  let kubeconfig: string;
  let log = "";

  const kube = async (verb: string, path: string, body?: object): Promise<void> => {
    const data = join(network.machine.dir, "up");
    const flags = `-gsS --fail-with-body --cacert ${data}/pki/ca.crt`;
    const type = verb === "PATCH" ? "application/apply-patch+yaml" : "application/json";
    const input = body === undefined ? "" : JSON.stringify(body);
    const command = `curl ${flags} -H "Authorization: Bearer e2e" -H 'content-type: ${type}' -X ${verb} ${body === undefined ? "" : "--data-binary @-"} '${SERVER}${path}'`;
    const { exitCode, stdout, stderr } = await network.machine.run("sh", ["-c", command], input);
    assert.equal(exitCode, 0, `${verb} ${path}: ${stdout}${stderr}`);
  };
  const apply = async (kindPath: string, object: { metadata: { name: string } }): Promise<void> =>
    kube("PATCH", `${kindPath}/${object.metadata.name}?fieldManager=e2e&force=true`, object);
  const startProxy = (): void => {
    const flags = ["--proxy-mode", mode, "--cluster-cidr", "10.244.0.0/16,fd44::/64"];
    const own = ["--hostname-override", "node1", "--iptables-sync-period", "500ms"];
    const ports = ["--nodeport-addresses", "192.168.77.0/24,127.0.0.0/8,fd77::/64"];
    proxy = network.machine.start(process.execPath, [
      ...[PROGRAM, "proxy", "--kubeconfig", kubeconfig, ...flags, ...own, ...ports],
    ]);
    for (const stream of [proxy.stdout, proxy.stderr]) {
      stream?.on("data", (chunk) => {
        log += chunk;
      });
    }
  };

  beforeAll(async () => {
    buildProgram();
    network = await startNodeNetwork();
    const data = join(network.machine.dir, "up");
    const tokens = join(network.machine.dir, "tokens.csv");
    await network.sh("node", `echo 'e2e,admin,1,"system:masters"' > ${tokens}`);
    const up = network.machine.start(process.execPath, [
      ...[PROGRAM, "up", "--foreground", "--no-node", "--data", data, "--token-auth-file", tokens],
      ...["--service-cluster-ip-range", "10.96.0.0/16,fd96::/112"],
    ]);
    let said = "";
    for (const stream of [up.stdout, up.stderr]) {
      stream?.on("data", (chunk) => {
        said += chunk;
      });
    }
    await until(() => {
      if (up.exitCode !== null) throw new Error(said);
      return said.includes("KUBECONFIG");
    });
    kubeconfig = join(data, "controller-manager.kubeconfig");
    await createServices();
    startProxy();
    await until(() => log.includes("service rules are written")).catch((error) => {
      throw new Error(`${error}: ${log}`);
    });
  }, 90_000);
  afterAll(() => network?.[Symbol.asyncDispose]());

  const createServices = async (): Promise<void> => {
    await apply("/api/v1/nodes", {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "node1", labels: { "topology.kubernetes.io/zone": "a" } },
    } as never);
    await service("web", "10.96.0.10", { type: "NodePort", nodePort: 30080 });
    await endpoints("web", ["pod1", "pod2"]);
    await service("sticky", "10.96.0.11", {
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
    });
    await endpoints("sticky", ["pod1", "pod2"]);
    await service("brief", "10.96.0.21", {
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } },
    });
    await endpoints("brief", ["pod1", "pod2"]);
    await service("sctp", "10.96.0.22", { protocol: "SCTP", port: 7000 });
    await endpoints("sctp", ["pod1"], "node1", { protocol: "SCTP", port: 9000 });
    await service("empty", "10.96.0.12", { type: "NodePort", nodePort: 30081 });
    await service("self", "10.96.0.13", {});
    await endpoints("self", ["pod1"]);
    await service("external", "10.96.0.14", { externalIPs: ["203.0.113.7"] });
    await endpoints("external", ["pod2"]);
    await service("local", "10.96.0.15", {
      type: "NodePort",
      nodePort: 30082,
      externalTrafficPolicy: "Local",
    });
    await endpoints("local", ["pod2"]);
    await service("remote", "10.96.0.16", { internalTrafficPolicy: "Local" });
    await endpoints("remote", ["pod2"], "other-node");
    await service("dns", "10.96.0.17", { protocol: "UDP", port: 53 });
    await endpoints("dns", ["pod1"], "node1", { protocol: "UDP", port: 5353 });
    await service("plain", "10.96.0.18", {});
    await endpointsOf("plain", [{ pod: "pod1" }, { pod: "pod2" }]);
    await service("zoned", "10.96.0.19", {});
    await endpointsOf("zoned", [
      { pod: "pod1", hints: { forZones: [{ name: "b" }] } },
      { pod: "pod2", hints: { forZones: [{ name: "a" }] } },
    ]);
    await service("balanced", "10.96.0.20", {
      ...{ type: "LoadBalancer", externalTrafficPolicy: "Local", healthCheckNodePort: 30_200 },
      loadBalancerSourceRanges: ["192.168.77.0/25"],
    });
    await endpoints("balanced", ["pod2"]);
    await kube("PATCH", `${SERVICES}/balanced/status?fieldManager=lb&force=true`, {
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: "balanced" } },
      status: { loadBalancer: { ingress: [{ ip: "203.0.113.9" }] } },
    });
    await service("six", "fd96::10", {
      type: "NodePort",
      nodePort: 30086,
      ipFamilies: ["IPv6"],
    });
    await sixEndpoints("six");
  };

  const service = (
    name: string,
    clusterIP: string,
    {
      nodePort,
      protocol = "TCP",
      port = 80,
      ...spec
    }: { nodePort?: number; protocol?: string; port?: number } & Record<string, unknown>,
  ): Promise<void> =>
    apply("/api/v1/namespaces/default/services", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { clusterIP, ports: [{ name: "p", port, protocol, nodePort }], ...spec },
    } as never);

  const endpoints = (
    name: string,
    pods: readonly (keyof typeof POD_IPS)[],
    nodeName = "node1",
    { protocol = "TCP", port = 8080 } = {},
    addressType: "IPv4" | "IPv6" = "IPv4",
  ): Promise<void> =>
    apply("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: `${name}-x`, labels: { "kubernetes.io/service-name": name } },
      addressType,
      endpoints: pods.map((pod) => ({
        addresses: [(addressType === "IPv4" ? POD_IPS : POD_IPS_V6)[pod]],
        conditions: { ready: true },
        nodeName,
      })),
      ports: [{ name: "p", port, protocol }],
    } as never);
  const endpointsOf = (
    name: string,
    list: readonly { pod: keyof typeof POD_IPS; conditions?: object; hints?: object }[],
  ): Promise<void> =>
    apply("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: `${name}-x`, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      endpoints: list.map(({ pod, conditions = { ready: true }, hints }) => ({
        ...{ addresses: [POD_IPS[pod]], conditions, nodeName: "node1" },
        ...(hints === undefined ? {} : { hints }),
      })),
      ports: [{ name: "p", port: 8080, protocol: "TCP" }],
    } as never);
  const sixEndpoints = (name: string): Promise<void> =>
    endpoints(name, ["pod1", "pod2"], "node1", {}, "IPv6");

  test("ClusterIP: both endpoints answer pods, the node and clients outside; pods keep their address", async () => {
    const seen = new Set<string>();
    for (let i = 0; i < 20; i++) seen.add((await network.get("pod1", "10.96.0.10")).text);
    // pod1 reaches pod2 from its own address, and itself from the node's.
    assert.ok(seen.has(`pod2 ${POD_IPS.pod1}`), [...seen].join());
    assert.ok(
      [...seen].some((text) => text.startsWith("pod1 ")),
      [...seen].join(),
    );
    assert.match((await network.get("node", "10.96.0.10")).text, /^pod[12] /);
    // Traffic from outside the cluster CIDR is masqueraded.
    assert.match((await network.get("outside", "10.96.0.10")).text, /^pod[12] 10\.244\.0\.1$/);
  });

  test("ClusterIP: endpoints are chosen evenly", async () => {
    const script = "for i in $(seq 200); do curl -s http://10.96.0.10/; echo; done";
    const lines = (await network.sh("node", script)).trim().split("\n");
    const first = lines.filter((line) => line.startsWith("pod1")).length;
    assert.equal(lines.length, 200);
    assert.ok(first > 60 && first < 140, `${first} of 200`);
  });

  test("ClusterIP only: even choice; endpoints that are gone are not chosen; terminating ones serve if none is ready", async () => {
    const answers = async (count: number): Promise<string[]> => {
      const all: string[] = [];
      for (let i = 0; i < count; i++) {
        all.push((await network.get("outside", "10.96.0.18")).text.slice(0, 4));
      }
      return all;
    };
    const first = await answers(40);
    const share = first.filter((text) => text === "pod1").length;
    assert.ok(share > 5 && share < 35, `${share} of 40 to pod1`);
    await endpointsOf("plain", [{ pod: "pod2" }]);
    await until(async () => (await answers(10)).every((text) => text === "pod2"), LONG);
    const conditions = { ready: false, serving: true, terminating: true };
    await endpointsOf("plain", [{ pod: "pod1", conditions }]);
    await until(async () => (await answers(3)).every((text) => text === "pod1"), LONG);
    await endpointsOf("plain", []);
    const refused = async (): Promise<boolean> =>
      (await network.get("pod1", "10.96.0.18", 1)).exitCode === 7;
    await until(refused, LONG);
    await endpointsOf("plain", [{ pod: "pod1" }, { pod: "pod2" }]);
    await until(async () => new Set(await answers(10)).size === 2, LONG);
  }, 120_000);

  test("topology hints: only endpoints for the zone of the node are chosen", async () => {
    for (let i = 0; i < 8; i++) {
      assert.match((await network.get("pod1", "10.96.0.19")).text, /^pod2 /);
    }
  });

  test("LoadBalancer: source ranges are enforced, the healthCheckNodePort counts local endpoints", async () => {
    assert.equal((await network.get("outside", "203.0.113.9")).text, "pod2 192.168.77.2");
    const health = async (): Promise<{ localEndpoints: number }> =>
      JSON.parse(await network.sh("node", "curl -s http://127.0.0.1:30200/"));
    assert.equal((await health()).localEndpoints, 1);
    const spec = { loadBalancerSourceRanges: ["192.168.77.128/25"] };
    await kube("PATCH", `${SERVICES}/balanced?fieldManager=other&force=true`, {
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: "balanced" }, spec },
    });
    await until(async () => (await network.get("outside", "203.0.113.9", 1)).exitCode === 28, LONG);
    await endpoints("balanced", ["pod2"], "other-node");
    await until(async () => (await health()).localEndpoints === 0, LONG);
  }, 120_000);

  test("NodePort: answers at the node's address, from outside and from the node", async () => {
    assert.match((await network.get("outside", `${NODE_IP}:30080`)).text, /^pod[12] /);
    assert.match((await network.get("node", `${NODE_IP}:30080`)).text, /^pod[12] /);
    assert.match((await network.get("pod1", `${NODE_IP}:30080`)).text, /^pod[12] /);
    // Loopback is one of --nodeport-addresses: only iptables can serve it, as with upstream's.
    const { exitCode } = await network.get("node", "127.0.0.1:30080");
    assert.equal(exitCode, mode === "iptables" ? 0 : 7);
    // Not one of --nodeport-addresses.
    assert.equal((await network.get("pod1", "10.244.0.1:30080")).exitCode, 7);
  });

  test("sessionAffinity ClientIP: one client always reaches the same endpoint", async () => {
    const seen = new Set<string>();
    for (let i = 0; i < 12; i++) {
      seen.add((await network.get("outside", "10.96.0.11")).text.split(" ")[0]!);
    }
    assert.equal(seen.size, 1);
  });

  test("sessionAffinity ClientIP: a client that stayed away for timeoutSeconds is balanced anew", async () => {
    const first = (await network.get("outside", "10.96.0.21")).text;
    await until(async () => (await network.get("outside", "10.96.0.21")).text !== first, {
      ...{ timeoutMs: 60_000, everyMs: 1_100 },
    });
  }, 90_000);

  test("SCTP: an INIT to the cluster IP reaches the endpoint's port", async () => {
    const inside = ["netns", "exec", "pod1", "perl", "-e", RECEIVE_INIT, "30"];
    const receiver = network.machine.start("ip", inside);
    let seen = "";
    receiver.stdout?.on("data", (chunk) => {
      seen += chunk;
    });
    await until(() => seen.includes("listening"), LONG);
    const sender = ["netns", "exec", "outside", "perl", "-e", SEND_INIT, "10.96.0.22", "7000"];
    const { exitCode, stderr } = await network.machine.run("ip", sender);
    assert.equal(exitCode, 0, stderr);
    await until(() => /^10\.244\.0\.1 9000$/m.test(seen), LONG).catch(() => assert.fail(seen));
  }, 90_000);

  test("no endpoints: ClusterIP and NodePort are rejected at once", async () => {
    for (const [place, host] of [
      ["pod1", "10.96.0.12"],
      ["node", "10.96.0.12"],
      ["outside", `${NODE_IP}:30081`],
    ] as const) {
      // Refused; 28 would be a timeout.
      assert.equal((await network.get(place, host)).exitCode, 7, `${place} ${host}`);
    }
  });

  test("hairpin: a pod reaches itself through its Service", async () => {
    const { text } = await network.get("pod1", "10.96.0.13");
    assert.match(text, /^pod1 /);
    assert.notEqual(text, `pod1 ${POD_IPS.pod1}`);
  });

  test("externalIPs: reached from outside", async () => {
    assert.match((await network.get("outside", "203.0.113.7")).text, /^pod2 /);
  });

  test("externalTrafficPolicy Local: the client's address is kept, pods and the node reach it too", async () => {
    assert.equal((await network.get("outside", `${NODE_IP}:30082`)).text, "pod2 192.168.77.2");
    assert.match((await network.get("node", `${NODE_IP}:30082`)).text, /^pod2 /);
    await endpoints("local", ["pod2"], "other-node");
    await until(async () => (await network.get("outside", `${NODE_IP}:30082`, 1)).exitCode === 28);
    assert.match((await network.get("pod1", `${NODE_IP}:30082`)).text, /^pod2 /);
    await endpoints("local", ["pod2"]);
    await until(async () => (await network.get("outside", `${NODE_IP}:30082`, 1)).exitCode === 0);
  });

  test("internalTrafficPolicy Local without local endpoints: packets are dropped", async () => {
    assert.equal((await network.get("pod1", "10.96.0.16", 1)).exitCode, 28);
  });

  test("service range: packets to unused addresses and ports do not leave the node", async () => {
    const sent = async (): Promise<number> =>
      Number(await network.sh("node", "awk '$1 == \"way-out:\" { print $11 }' /proc/net/dev"));
    const before = await sent();
    for (const host of ["10.96.200.200", "10.96.0.10:81", "[fd96::99]"]) {
      assert.notEqual((await network.get("pod1", host, 1)).exitCode, 0);
      assert.notEqual((await network.get("node", host, 1)).exitCode, 0);
    }
    assert.equal((await network.get("pod1", "10.96.0.10:81", 1)).exitCode, 7);
    assert.equal(await sent(), before);
    // The way out works for other addresses, so the count above means something.
    await network.get("pod1", "198.51.100.1", 1);
    assert.ok((await sent()) > before);
  });

  test("IPv6: ClusterIP and NodePort", async () => {
    // Half of these are hairpin connections, which must not have the pod's own address.
    for (let i = 0; i < 8; i++) {
      const { text } = await network.get("pod1", "[fd96::10]");
      assert.match(text, /^(?:pod2 fd44::11|pod1 fd44::1)$/);
    }
    assert.match((await network.get("outside", `[${NODE_IP_V6}]:30086`)).text, /^pod[12] /);
  });

  test("UDP: a client that keeps its port reaches the new endpoint after the old one is gone", async () => {
    assert.equal(await network.udp("outside", "10.96.0.17", 53, 40_000), "pod1");
    await endpoints("dns", ["pod2"], "node1", { protocol: "UDP", port: 5353 });
    await until(async () => (await network.udp("outside", "10.96.0.17", 53, 40_000)) === "pod2");
  });

  test("k8ts: flushed rules are written again", async () => {
    await network.sh(
      "node",
      mode === "nftables"
        ? "nft flush ruleset"
        : "iptables -t nat -F; iptables -F; ip6tables -t nat -F",
    );
    assert.notEqual((await network.get("pod1", "10.96.0.13", 1)).exitCode, 0);
    await until(async () => (await network.get("pod1", "10.96.0.13", 1)).exitCode === 0);
  });

  test("healthz, metrics and proxyMode", async () => {
    const health = JSON.parse(await network.sh("node", "curl -s http://127.0.0.1:10256/healthz"));
    assert.equal(health.nodeEligible, true);
    assert.equal(await network.sh("node", "curl -s http://127.0.0.1:10249/proxyMode"), mode);
    assert.match(
      await network.sh("node", "curl -s http://127.0.0.1:10249/metrics"),
      /kubeproxy_sync_proxy_rules_duration_seconds_count\{ip_family="IPv4"\} \d/,
    );
  });

  test("a clean end removes the rules, and --cleanup those that a killed proxy left", async () => {
    const rules = (): Promise<string> =>
      network.sh("node", "nft list ruleset | grep -iE 'kube' || true");
    const ended = (): Promise<unknown> => new Promise((resolve) => proxy.once("exit", resolve));
    let end = ended();
    await network.sh("node", "kill -TERM $(pgrep -f 'k8ts.js proxy' | head -1)");
    await end;
    assert.equal(await rules(), "");
    log = "";
    startProxy();
    await until(() => log.includes("service rules are written"));
    end = ended();
    await network.sh("node", "kill -KILL $(pgrep -f 'k8ts.js proxy' | head -1)");
    await end;
    assert.notEqual(await rules(), "");
    await network.sh("node", `${process.execPath} ${PROGRAM} proxy --cleanup`);
    assert.equal(await rules(), "");
  });
});
