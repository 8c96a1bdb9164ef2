/**
 * NetworkPolicies with real packets: upstream's matrix of policies and probes between pods on one bridge
 * and a pod of another node, over IPv4 and IPv6. Every case starts from a state with other answers, so
 * that rules which are not written cannot pass.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { buildProgram, PROGRAM } from "../../built-program.ts";
import { until } from "../node/eventually.ts";
import { CASES, type Packet } from "./cases.ts";
import {
  netnsOf,
  POD_NAMES,
  PODS,
  type PodName,
  type PodNetwork,
  startPodNetwork,
  type Target,
} from "./pod-network.ts";

const MISSING = ["nft", "iptables", "conntrack", "busybox"].flatMap((p) => missingProgram(p) ?? []);
const SERVER = "https://127.0.0.1:6443";
const LIMIT = { timeoutMs: 60_000 };
const SERVICE_IP = "10.96.0.77";
const POLICIES = "/apis/networking.k8s.io/v1/namespaces";

describe.skipIf(MISSING.length > 0)("NetworkPolicy", () => {
  let network: PodNetwork;

  const kube = async (verb: string, path: string, body?: object): Promise<string> => {
    const data = join(network.machine.dir, "up");
    const flags = `-gsS --fail-with-body --cacert ${data}/pki/ca.crt`;
    const type = verb === "PATCH" ? "application/apply-patch+yaml" : "application/json";
    const input = body === undefined ? "" : JSON.stringify(body);
    const command = `curl ${flags} -H "Authorization: Bearer e2e" -H 'content-type: ${type}' -X ${verb} ${body === undefined ? "" : "--data-binary @-"} '${SERVER}${path}'`;
    const { exitCode, stdout, stderr } = await network.machine.run("sh", ["-c", command], input);
    assert.equal(exitCode, 0, `${verb} ${path}: ${stdout}${stderr}`);
    return stdout;
  };
  const apply = (path: string, object: { metadata: { name: string } }): Promise<string> =>
    kube("PATCH", `${path}/${object.metadata.name}?fieldManager=e2e&force=true`, object);

  let known: readonly string[] = [];
  const setPolicies = async (policies: Readonly<Record<string, object>>): Promise<void> => {
    const gone = known.filter((id) => !Object.hasOwn(policies, id));
    known = Object.keys(policies);
    const folder = (id: string): string => `${POLICIES}/${id.split("/")[0]}/networkpolicies`;
    await Promise.all([
      ...Object.entries(policies).map(([id, spec]) =>
        apply(folder(id), {
          apiVersion: "networking.k8s.io/v1",
          kind: "NetworkPolicy",
          metadata: { name: id.split("/")[1]! },
          spec,
        } as never),
      ),
      ...gone.map((id) => kube("DELETE", `${folder(id)}/${id.split("/")[1]}`)),
    ]);
  };

  const labelNamespace = (name: string, labels: object = {}): Promise<string> =>
    apply("/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels: { ns: name, ...labels } },
    } as never);

  const labelPod = (id: PodName, labels: object): Promise<string> => {
    const [namespace, name = ""] = id.split("/");
    const patch = `/api/v1/namespaces/${namespace}/pods`;
    const port = (protocol: string, containerPort: number) => ({
      name: `serve-${containerPort}-${protocol.toLowerCase()}`,
      ...{ containerPort, protocol },
    });
    return apply(patch, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels },
      spec: {
        nodeName: PODS[id].node,
        terminationGracePeriodSeconds: 0,
        containers: [
          { name: "c", image: "none", ports: [port("TCP", 80), port("TCP", 81), port("UDP", 80)] },
        ],
      },
    } as never);
  };

  const createPod = async (id: PodName): Promise<void> => {
    const [namespace, name = ""] = id.split("/");
    await until(
      async () =>
        (await kube("GET", `/api/v1/namespaces/${namespace}/serviceaccounts`)).includes(
          '"default"',
        ),
      LIMIT,
    );
    await labelPod(id, { pod: name });
    const { ip, ip6 } = PODS[id];
    await kube("PATCH", `/api/v1/namespaces/${namespace}/pods/${name}/status?fieldManager=node`, {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { name } },
      status: { phase: "Running", podIP: ip, podIPs: [{ ip }, { ip: ip6 }] },
    });
  };

  /** What passes now, as `from protocol address port`. Pods do not probe themselves. */
  const reached = async (): Promise<ReadonlySet<string>> => {
    const found = await Promise.all(
      POD_NAMES.map(async (from) => {
        const targets = packetsFrom(from).flatMap(targetsOf);
        return [...(await network.probe(from, targets))].map((target) => `${from} ${target}`);
      }),
    );
    return new Set(found.flat());
  };

  const untilReached = async (allows: (packet: Packet) => boolean): Promise<void> => {
    const want = POD_NAMES.flatMap(packetsFrom)
      .filter(allows)
      .flatMap((packet) => targetsOf(packet).map((target) => `${packet.from} ${target}`));
    let differences: string[] = [];
    await until(async () => {
      const got = await reached();
      differences = [
        ...want.filter((one) => !got.has(one)).map((one) => `blocked: ${one}`),
        ...[...got].filter((one) => !want.includes(one)).map((one) => `passed: ${one}`),
      ];
      return differences.length === 0;
    }, LIMIT).catch((error) => assert.fail(`${error}\n${differences.join("\n")}`));
  };

  beforeAll(async () => {
    buildProgram();
    network = await startPodNetwork();
    const { dir } = network.machine;
    const data = join(dir, "up");
    await network.sh(`echo 'e2e,admin,1,"system:masters"' > ${dir}/tokens.csv`);
    const said = start([
      ...["up", "--foreground", "--no-node", "--data", data],
      ...["--token-auth-file", `${dir}/tokens.csv`],
      ...["--service-cluster-ip-range", "10.96.0.0/16,fd96::/112"],
    ]);
    await until(() => said().includes("KUBECONFIG"), LIMIT).catch(() => assert.fail(said()));
    for (const name of ["node1", "node2"]) {
      await apply("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } } as never);
    }
    for (const name of ["x", "y", "z"]) await labelNamespace(name);
    for (const pod of POD_NAMES) await createPod(pod);
    await apply("/api/v1/namespaces/x/services", {
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: "a" } },
      spec: { clusterIP: SERVICE_IP, ports: [{ port: 8000 }] },
    } as never);
    await apply("/apis/discovery.k8s.io/v1/namespaces/x/endpointslices", {
      ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", addressType: "IPv4" },
      metadata: { name: "a", labels: { "kubernetes.io/service-name": "a" } },
      endpoints: [{ addresses: [PODS["x/a"].ip], nodeName: "node1" }],
      ports: [{ name: "", port: 80 }],
    } as never);
    const proxy = start([
      ...["proxy", "--kubeconfig", join(data, "controller-manager.kubeconfig")],
      ...["--hostname-override", "node1", "--cluster-cidr", "10.244.0.0/16,fd44::/16"],
      ...["--iptables-sync-period", "500ms"],
    ]);
    await until(() => proxy().includes("service rules are written"), LIMIT).catch(() =>
      assert.fail(proxy()),
    );
  }, 150_000);
  afterAll(() => network?.[Symbol.asyncDispose]());

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

  for (const { name, policies, allows } of CASES) {
    test(name, { timeout: 70_000 }, async () => {
      await setPolicies(policies);
      await untilReached(allows);
    });
  }

  test("labels of namespaces and pods change what is allowed", { timeout: 130_000 }, async () => {
    const from = [
      { namespaceSelector: { matchLabels: { extra: "yes" } } },
      { podSelector: { matchLabels: { extra: "yes" } } },
    ];
    const podSelector = { matchLabels: { pod: "a" } };
    await setPolicies({ "x/p": { podSelector, policyTypes: ["Ingress"], ingress: [{ from }] } });
    await untilReached(({ to }) => to !== "x/a");
    await labelNamespace("y", { extra: "yes" });
    await labelPod("x/b", { pod: "b", extra: "yes" });
    await untilReached(({ from, to }) => to !== "x/a" || from === "x/b" || from.startsWith("y/"));
    await labelNamespace("y");
    await labelPod("x/b", { pod: "b" });
    await untilReached(({ to }) => to !== "x/a");
  });

  test("the node always reaches its own pods (probes), and pods reach themselves through a Service", async () => {
    await setPolicies({
      "x/p": { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
    });
    await untilReached(({ from, to }) => !from.startsWith("x/") && !to.startsWith("x/"));
    const ready: Target[] = [`tcp ${PODS["x/a"].ip} 80`, `tcp ${PODS["x/a"].ip6} 80`];
    await until(async () => (await network.probe("node", ready)).size === ready.length, LIMIT);
    const service: Target = `tcp ${SERVICE_IP} 8000`;
    await until(async () => (await network.probe("x/a", [service])).size === 1, LIMIT);
    assert.deepEqual([...(await network.probe("y/a", [service]))], []);
  }, 190_000);

  test("Service traffic is judged by the pod behind it", { timeout: 70_000 }, async () => {
    const podSelector = { matchLabels: { pod: "a" } };
    const ingress = [
      { from: [{ podSelector: { matchLabels: { pod: "b" } } }], ports: [{ port: 80 }] },
    ];
    await setPolicies({ "x/p": { podSelector, policyTypes: ["Ingress"], ingress } });
    const service: Target = `tcp ${SERVICE_IP} 8000`;
    await until(async () => {
      const [b, y] = await Promise.all(
        (["x/b", "y/a"] as const).map((pod) => network.probe(pod, [service])),
      );
      return b?.size === 1 && y?.size === 0;
    }, LIMIT);
  });

  test("an allowed connection goes on when a policy forbids new ones; flushed rules are written again", async () => {
    await setPolicies({});
    await untilReached(() => true);
    const held = network.machine.start("ip", [
      ...["netns", "exec", netnsOf("y/a"), process.execPath, "-e", HELD_CONNECTION],
      PODS["x/a"].ip,
    ]);
    let answers = "";
    held.stdout?.on("data", (chunk) => {
      answers += chunk;
    });
    await until(() => answers.length > 0, LIMIT);
    await setPolicies({ "x/p": { podSelector: {}, policyTypes: ["Ingress"] } });
    await untilReached(({ to }) => !to.startsWith("x/"));
    const before = answers.length;
    await until(() => answers.length > before + 2, LIMIT);
    await network.sh("nft delete table inet k8ts-network-policy");
    await untilReached(({ to }) => !to.startsWith("x/"));
  }, 130_000);

  test("the end of the proxy removes the rules", { timeout: 70_000 }, async () => {
    await network.sh("kill -TERM $(pgrep -f 'k8ts.js proxy' | head -1)");
    await until(async () => !(await network.sh("nft list tables")).includes("k8ts"), LIMIT);
  });
});

function packetsFrom(from: PodName): Packet[] {
  const sockets = [
    { protocol: "tcp", port: 80 },
    { protocol: "tcp", port: 81 },
    { protocol: "udp", port: 80 },
  ] as const;
  return POD_NAMES.filter((to) => to !== from).flatMap((to) =>
    sockets.map((socket) => ({ from, to, ...socket })),
  );
}

function targetsOf({ to, protocol, port }: Packet): Target[] {
  const { ip, ip6 } = PODS[to];
  return [`${protocol} ${ip} ${port}`, `${protocol} ${ip6} ${port}`];
}

/** Sends a byte over one connection again and again, and prints a dot for each that comes back. */
const HELD_CONNECTION = `
const socket = require("net").connect({ host: process.argv[1], port: 80 }, () => setInterval(() => socket.write("."), 50));
socket.on("data", (data) => process.stdout.write(data)).on("error", () => process.exit(1));
`;
