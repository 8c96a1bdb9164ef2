/**
 * `k8ts cloud-controller-manager` as a program, with nothing but the rights of its roles: on our API server,
 * and on upstream's where K8TS_KUBE_APISERVER names it.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { CLOUD_LEASE_RULES, CLOUD_RULES } from "#cloud/cloud-role.ts";
import { freePort } from "#testing/free-ports.ts";
import { KUBE_APISERVER, startKubeApiServer } from "../../bench/load/kube-apiserver.ts";
import { buildProgram, PROGRAM, type RunningProgram, startCommand } from "../built-program.ts";
import { startEtcd } from "../store/etcd-cluster.ts";
import { until } from "./node/eventually.ts";

const RBAC = "rbac.authorization.k8s.io";
const ACCOUNT = { kind: "ServiceAccount", namespace: "kube-system", name: "ccm" };
const LONG = { timeoutMs: 60_000, everyMs: 100 };
const UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized";

/** Addresses of a list: written from docs/cloud.md alone. */
const PROVIDER = `export function createProvider({ config }) {
  const made = new Map();
  return {
    name: "mine",
    loadBalancers: {
      get: async (_cluster, { metadata }) => made.get(metadata.uid),
      ensure: async (_cluster, { metadata }) => {
        made.set(metadata.uid, { ingress: [{ ip: config.trim() }] });
        return made.get(metadata.uid);
      },
      update: async () => undefined,
      remove: async (_cluster, { metadata }) => void made.delete(metadata.uid),
    },
  };
}
`;

const SERVERS = ["k8ts", ...(KUBE_APISERVER === "" ? [] : ["upstream's kube-apiserver"])];

describe.each(SERVERS)("cloud-controller-manager on %s", (kind) => {
  const running: AsyncDisposable[] = [];
  const dir = mkdtempSync(join(tmpdir(), "cloud-manager-"));
  let server = "";

  const tryKubectl = (...args: string[]) =>
    spawnSync(
      "kubectl",
      ["--kubeconfig", join(dir, "data/admin.kubeconfig"), "-s", server, ...args],
      {
        encoding: "utf8",
      },
    );
  const kubectl = (...args: string[]): string => {
    const { status, stdout, stderr } = tryKubectl(...args);
    assert.equal(status, 0, stderr);
    return stdout;
  };
  const apply = (...items: object[]): void => {
    const file = join(dir, "apply.json");
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    kubectl("apply", "-f", file);
  };
  const serviceOf = (name: string): object => ({
    ...{ apiVersion: "v1", kind: "Service", metadata: { name, namespace: "default" } },
    spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
  });
  const addressOf = (name: string): string =>
    kubectl("get", "service", name, "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}");

  /** In its own folder, where the paths and packages of providers are looked for. */
  const startManager = (provider: string, ...flags: string[]): RunningProgram => {
    const script = `cd ${dir} && exec "$0" "$@"`;
    const manager = startCommand("sh", [
      ...["-c", script, process.execPath, PROGRAM, "cloud-controller-manager"],
      ...["--cloud-provider", provider, "--kubeconfig", join(dir, "ccm.kubeconfig")],
      ...["--secure-port", "0", "--leader-elect-retry-period", "300ms", ...flags],
    ]);
    running.push(manager);
    return manager;
  };

  beforeAll(async () => {
    buildProgram();
    const port = await freePort();
    const own = startCommand(process.execPath, [
      ...[PROGRAM, "apiserver", "--data-dir", join(dir, "data"), "--secure-port", String(port)],
      ...["--bind-address", "127.0.0.1"],
    ]);
    server = `https://127.0.0.1:${port}`;
    running.push(own);
    await until(() => tryKubectl("get", "--raw", "/readyz").status === 0, LONG);
    if (kind !== "k8ts") {
      const etcd = await startEtcd();
      running.push(etcd);
      const theirs = await startKubeApiServer({
        ...{ etcdServers: etcd.endpoints, keysOf: join(dir, "data") },
        directory: join(dir, "upstream"),
      });
      running.push(theirs);
      server = `https://127.0.0.1:${theirs.port}`;
    }
    const { kind: _, ...at } = ACCOUNT;
    const role = (apiKind: "ClusterRole" | "Role", rules: object, metadata: object): object[] => [
      { apiVersion: `${RBAC}/v1`, kind: apiKind, metadata, rules },
      {
        ...{ apiVersion: `${RBAC}/v1`, kind: `${apiKind}Binding`, metadata },
        roleRef: { apiGroup: RBAC, kind: apiKind, name: "ccm" },
        subjects: [ACCOUNT],
      },
    ];
    await until(() => tryKubectl("get", "namespace", "kube-system", "default").status === 0, LONG);
    apply(
      { apiVersion: "v1", kind: "ServiceAccount", metadata: at },
      ...role("ClusterRole", CLOUD_RULES, { name: "ccm" }),
      ...role("Role", CLOUD_LEASE_RULES, at),
    );
    const token = kubectl("create", "token", "-n", "kube-system", "ccm").trim();
    const ca = readFileSync(join(dir, "data/pki/ca.crt")).toString("base64");
    const cluster = { server, "certificate-authority-data": ca };
    writeFileSync(
      join(dir, "ccm.kubeconfig"),
      JSON.stringify({
        ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
        clusters: [{ name: "c", cluster }],
        contexts: [{ name: "c", context: { cluster: "c", user: "c" } }],
        users: [{ name: "c", user: { token } }],
      }),
    );
  }, 180_000);

  afterAll(async () => {
    for (const each of running.reverse()) await each[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });

  test("simulated: a machine's Node is initialized, routed, and goes with the machine", async () => {
    const apiPort = await freePort();
    const config = join(dir, "cloud.yaml");
    writeFileSync(config, `listen: 127.0.0.1:${apiPort}\nlatency: 5ms\n`);
    const manager = startManager(
      "simulated",
      ...["--cloud-config", config, "--node-monitor-period", "300ms"],
      ...["--allocate-node-cidrs", "--cluster-cidr", "10.244.0.0/16"],
      ...["--route-reconciliation-period", "500ms"],
    );
    const api = async (method: string, path: string, body?: object): Promise<string> => {
      // kubectl runs synchronously: an idle connection may have ended unnoticed.
      const headers = { connection: "close" };
      const sent = body === undefined ? { headers } : { headers, body: JSON.stringify(body) };
      const reply = await fetch(`http://127.0.0.1:${apiPort}${path}`, { method, ...sent });
      return await reply.text();
    };
    await until(async () => (await api("GET", "/machines").catch(() => "")) !== "", LONG);
    const { id } = JSON.parse(await api("POST", "/machines", { name: "a", type: "large" }));
    apply({
      ...{ apiVersion: "v1", kind: "Node", metadata: { name: "a" } },
      spec: {
        podCIDR: "10.244.1.0/24",
        podCIDRs: ["10.244.1.0/24"],
        taints: [{ key: UNINITIALIZED, value: "true", effect: "NoSchedule" }],
      },
    });
    apply(serviceOf("web"));
    const node = (path: string): string => kubectl("get", "node", "a", "-o", `jsonpath=${path}`);
    await until(() => node("{.spec.providerID}") === `simulated://${id}`, LONG);
    assert.doesNotMatch(node("{.spec.taints}"), /uninitialized/);
    assert.equal(node("{.metadata.labels.node\\.kubernetes\\.io/instance-type}"), "large");
    await until(() => node("{.status.addresses[0].address}") === "192.0.2.1", LONG);
    const network = '{.status.conditions[?(@.type=="NetworkUnavailable")].reason}';
    await until(() => node(network) === "RouteCreated", LONG);
    assert.match(await api("GET", "/routes"), /"destinationCidr":"10\.244\.1\.0\/24"/);
    await until(() => addressOf("web") !== "", LONG);
    assert.match(await api("GET", "/loadbalancers"), new RegExp(`"ip":"${addressOf("web")}"`));

    const reasons = (): string =>
      kubectl("get", "events", "-A", "-o", "jsonpath={.items[*].reason}");
    await api("POST", `/machines/${id}/stop`);
    await until(() => node("{.spec.taints[*].key}").includes("shutdown"), LONG);
    await api("DELETE", `/machines/${id}`);
    await until(() => tryKubectl("get", "node", "a").status !== 0, LONG);
    await until(async () => !(await api("GET", "/routes")).includes("10.244.1.0"), LONG);
    kubectl("delete", "service", "web", "--timeout=60s");
    assert.equal((JSON.parse(await api("GET", "/loadbalancers")) as { items: [] }).items.length, 0);
    const wanted = [
      ...["Synced", "EnsuringLoadBalancer", "EnsuredLoadBalancer", "DeletingNode"],
      ...["DeletingLoadBalancer", "DeletedLoadBalancer"],
    ];
    await until(() => wanted.every((reason) => reasons().split(" ").includes(reason)), LONG);
    assert.doesNotMatch(manager.output(), /forbidden/i);
    await manager.end("SIGTERM");
  }, 180_000);

  test("simulate --machines: a machine registers a Node, which is initialized, and is unreachable once the machine is deleted", async () => {
    const apiPort = await freePort();
    const config = join(dir, "machines.yaml");
    writeFileSync(config, `listen: 127.0.0.1:${apiPort}\nmachines: [{ name: m, type: small }]\n`);
    const manager = startManager(
      "simulated",
      ...["--cloud-config", config, "--node-monitor-period", "300ms"],
    );
    const url = `http://127.0.0.1:${apiPort}`;
    const kubeconfig = join(dir, "simulate.kubeconfig");
    writeFileSync(
      kubeconfig,
      readFileSync(join(dir, "data/admin.kubeconfig"), "utf8").replace(/https:[^\s"]*/, server),
    );
    const flags = ["simulate", "--kubeconfig", kubeconfig, "--machines", url];
    const simulation = startCommand(process.execPath, [PROGRAM, ...flags]);
    running.push(simulation);
    const node = (path: string): string =>
      tryKubectl("get", "node", "m", "-o", `jsonpath=${path}`).stdout;
    const ready = '{.status.conditions[?(@.type=="Ready")].status}';
    await until(() => node("{.spec.providerID}") !== "" && node(ready) === "True", LONG);
    assert.equal(node("{.metadata.labels.node\\.kubernetes\\.io/instance-type}"), "small");
    assert.doesNotMatch(node("{.spec.taints}"), /uninitialized/);
    await until(() => node("{.status.addresses[0].address}") === "192.0.2.1", LONG);
    const id = node("{.spec.providerID}").replace("simulated://", "");
    const reply = await fetch(`${url}/machines/${id}`, { method: "DELETE" });
    assert.equal(reply.status, 200);
    const failure = "{.metadata.annotations.sim\\.k8ts\\.io/failure}";
    await until(() => node(failure) === "unreachable", LONG);
    await simulation.end("SIGTERM");
    await manager.end("SIGTERM");
  }, 120_000);

  test("a provider from a file, and one from a package that takes its lease over", async () => {
    writeFileSync(join(dir, "my-provider.mjs"), PROVIDER);
    const folder = join(dir, "node_modules/my-cloud");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "index.mjs"), PROVIDER);
    const manifest = { name: "my-cloud", version: "1.0.0", exports: "./index.mjs" };
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    const configs = ["192.0.2.10", "192.0.2.20"].map((address) => {
      const file = join(dir, address);
      writeFileSync(file, address);
      return file;
    });
    const first = startManager("./my-provider.mjs", "--cloud-config", configs[0]!);
    apply(serviceOf("first"));
    await until(() => addressOf("first") === "192.0.2.10", LONG);
    const second = startManager("my-cloud", "--cloud-config", configs[1]!);
    apply(serviceOf("second"));
    await until(() => addressOf("second") === "192.0.2.10", LONG);
    await first.end("SIGTERM");
    apply(serviceOf("third"));
    await until(() => addressOf("third") === "192.0.2.20", LONG);
    await until(() => second.output().includes("does not support instances"), LONG);
    for (const name of ["first", "second", "third"]) kubectl("delete", "service", name);
    assert.doesNotMatch(first.output() + second.output(), /forbidden/i);
    assert.equal(await second.end("SIGTERM"), 0);
  }, 120_000);

  test.each([
    ["./nothing.mjs", /cloud provider "\.\/nothing\.mjs" could not be loaded/],
    [
      "no-such-package",
      /known are local, simulated, a path \(\.\/provider\.js\) or an installed package/,
    ],
  ])("--cloud-provider %s is refused", async (provider, expected) => {
    const manager = startManager(provider);
    assert.equal(await manager.end("SIGCONT"), 1);
    assert.match(manager.output(), expected);
  });
});
