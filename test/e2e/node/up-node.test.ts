/** `k8ts up` of the built program with its own node, in a machine without a way out. */
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync, symlinkSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { nodePaths } from "#kubelet/containerd/node-paths.ts";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { buildProgram, PROGRAM } from "../../built-program.ts";
import { until } from "./eventually.ts";
import { type Machine, startMachine } from "./machine.ts";

const IMAGE = "k8ts.local/busybox:1";
const LOOP = 'echo hello; trap "exit 0" TERM; while :; do sleep 1; done';

describe("k8ts up with a node", () => {
  let machine: Machine;
  let data: string;
  let log = "";
  let exit: Promise<number | null>;
  let end: () => void;

  beforeAll(async () => {
    for (const program of ["containerd", "runc", "busybox"] as const) missingProgram(program);
    buildProgram();
    machine = await startMachine();
    data = join(machine.dir, "data");
    const link = "ip link add node0 type veth peer name node1 && ip link set node1 up";
    const address = "ip addr add 192.168.77.1/24 dev node0 && ip link set node0 up";
    await machine.run("sh", ["-c", `${link} && ${address}`]);
    const up = machine.start(process.execPath, [PROGRAM, "up", "--foreground", "--data", data]);
    const keep = (chunk: Buffer): void => {
      log = (log + String(chunk)).slice(-50_000);
    };
    up.stdout?.on("data", keep);
    up.stderr?.on("data", keep);
    exit = new Promise((resolve) => up.once("exit", resolve));
    end = () => void machine.run("sh", ["-c", `kill $(pgrep -f "${PROGRAM} up")`]);
    await until(() => log.includes("KUBECONFIG"), { timeoutMs: 60_000 }).catch(() => {
      throw new Error(`the cluster does not start: ${log}`);
    });
    await buildImage(machine, data);
  }, 180_000);

  afterAll(async () => {
    await machine[Symbol.asyncDispose]();
  });

  async function kubectl(...args: string[]): Promise<string> {
    const config = ["--kubeconfig", join(data, "kubeconfig")];
    const result = await machine.run("kubectl", [...config, ...args]);
    if (result.exitCode !== 0)
      throw new Error(`kubectl ${args.join(" ")}: ${result.stderr}\n${log}`);
    return result.stdout;
  }

  async function apply(object: object): Promise<void> {
    const args = ["--kubeconfig", join(data, "kubeconfig"), "apply", "-f", "-"];
    const { exitCode, stderr } = await machine.run("kubectl", args, JSON.stringify(object));
    assert.equal(exitCode, 0, stderr);
  }

  test("the node is Ready, with addresses, capacity and a runtime", async () => {
    await kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=30s");
    const wide = await kubectl("get", "nodes", "-o", "wide", "--no-headers");
    assert.match(wide, /Ready .*192\.168\.77\.1.*containerd:\/\//);
  }, 60_000);

  test("a Deployment runs: logs, exec and the kubelet's metrics work, and it goes again", async () => {
    await kubectl(
      "create",
      "deployment",
      "web",
      `--image=${IMAGE}`,
      "--replicas=2",
      "--",
      "sh",
      "-c",
      LOOP,
    );
    await kubectl("rollout", "status", "deployment/web", "--timeout=60s");
    assert.equal(await kubectl("logs", "deployment/web"), "hello\n");
    const shown = await kubectl("exec", "deployment/web", "--", "sh", "-c", "echo from inside");
    assert.equal(shown, "from inside\n");
    const metrics = "/api/v1/nodes/k8ts-node/proxy/metrics/resource";
    assert.match(await kubectl("get", "--raw", metrics), /container_cpu_usage_seconds_total\{/);
    const own = await kubectl("get", "--raw", "/api/v1/nodes/k8ts-node/proxy/metrics");
    assert.match(own, /^kubelet_node_name\{node="k8ts-node"\} 1$/m);
    assert.match(own, /^kubelet_running_pods [2-9]/m);
    assert.match(
      own,
      /^kubelet_runtime_operations_total\{operation_type="run_podsandbox"\} [2-9]/m,
    );
    assert.match(own, /^kubelet_pod_start_duration_seconds_count [2-9]/m);
    assert.match(
      own,
      /^storage_operation_duration_seconds_count\{.*volume_plugin="kubernetes.io\/projected"\}/m,
    );
    await kubectl("delete", "deployment", "web");
    await kubectl("wait", "--for=delete", "pod", "-l", "app=web", "--timeout=60s");
  }, 120_000);

  test("a pod reaches the API server at the address of the kubernetes Service's endpoint", async () => {
    const address = await kubectl(
      "get",
      "endpoints",
      "kubernetes",
      "-o",
      "jsonpath={.subsets[0].addresses[0].ip}",
    );
    assert.equal(address, "192.168.77.1");
    const ask = `nc -w 2 ${address} 6443 </dev/null && echo reached`;
    await kubectl("run", "caller", `--image=${IMAGE}`, "--restart=Never", "--", "sh", "-c", ask);
    await kubectl(
      "wait",
      "--for=jsonpath={.status.phase}=Succeeded",
      "pod/caller",
      "--timeout=60s",
    );
    assert.equal(await kubectl("logs", "caller"), "reached\n");
  }, 120_000);

  test("a pod resolves a Service by DNS and calls it, and the API server, at their cluster IPs", async () => {
    const serve = "echo served > /index.html; httpd -f -p 8080 -h /";
    await kubectl("create", "deployment", "site", `--image=${IMAGE}`, "--", "sh", "-c", serve);
    await kubectl("expose", "deployment", "site", "--port=80", "--target-port=8080");
    await kubectl("rollout", "status", "deployment/site", "--timeout=60s");
    // Debian's static busybox cannot resolve names itself, but it can ask for them.
    const script = [
      "nslookup site.default.svc.cluster.local",
      'printf "GET /index.html HTTP/1.0\\r\\n\\r\\n" | nc -w 5 $SITE_SERVICE_HOST 80',
      "nc -w 5 $KUBERNETES_SERVICE_HOST 443 </dev/null && echo reached",
    ].join(" && ");
    await kubectl("run", "client", `--image=${IMAGE}`, "--restart=Never", "--", "sh", "-c", script);
    const ended = "--for=jsonpath={.status.phase}=Succeeded";
    await kubectl("wait", ended, "pod/client", "--timeout=30s").catch(async (error) => {
      throw new Error(`${error}: ${await kubectl("logs", "client")}`);
    });
    const output = await kubectl("logs", "client");
    const clusterIp = await kubectl("get", "service", "site", "-o", "jsonpath={.spec.clusterIP}");
    assert.match(output, new RegExp(`Address: ${clusterIp}\\n`));
    assert.match(output, /served\nreached\n$/);
  }, 150_000);

  test("a Service of type LoadBalancer gets an EXTERNAL-IP that answers on the machine and in pods", async () => {
    const serve = "echo balanced > /index.html; httpd -f -p 8080 -h /";
    await kubectl("create", "deployment", "shop", `--image=${IMAGE}`, "--", "sh", "-c", serve);
    await kubectl("rollout", "status", "deployment/shop", "--timeout=60s");
    const ports = ["--port=80", "--target-port=8080"];
    await kubectl("expose", "deployment", "shop", "--type=LoadBalancer", ...ports);
    const path = "{.status.loadBalancer.ingress[0].ip}";
    await kubectl("wait", `--for=jsonpath=${path}`, "service/shop", "--timeout=60s");
    const address = await kubectl("get", "service", "shop", "-o", `jsonpath=${path}`);
    assert.match(address, /^10\.245\.0\./);
    const ask = `printf "GET /index.html HTTP/1.0\\r\\n\\r\\n" | nc -w 5 ${address} 80`;
    // The proxy's rules follow the status.
    const isAnswered = async (): Promise<boolean> =>
      /balanced/.test((await machine.run("busybox", ["sh", "-c", ask])).stdout);
    await until(isAnswered, { timeoutMs: 60_000 });
    const fromPod = await kubectl("exec", "deployment/shop", "--", "sh", "-c", ask);
    assert.match(fromPod, /balanced/);
    await kubectl("delete", "service", "shop", "--timeout=60s");
    const left = (await machine.run("ip", ["addr", "show", "dev", "lo"])).stdout;
    assert.ok(!left.includes(address), left);
  }, 180_000);

  test("an Ingress of the default class answers at the address of its status", async () => {
    await kubectl("expose", "deployment", "shop", "--name=web", "--port=80", "--target-port=8080");
    await kubectl("create", "ingress", "web", "--rule=shop.test/*=web:80");
    const path = "{.status.loadBalancer.ingress[0].ip}";
    await kubectl("wait", `--for=jsonpath=${path}`, "ingress/web", "--timeout=60s");
    const address = await kubectl("get", "ingress", "web", "-o", `jsonpath=${path}`);
    const lines = ["GET /index.html HTTP/1.1", "Host: shop.test", "Connection: close"];
    const request = lines.map((line) => `${line}\\r\\n`).join("");
    // A client that closes its side at once has gone away, for an Ingress as for nginx.
    const ask = `(printf "${request}\\r\\n"; sleep 3) | nc -w 5 ${address} 80`;
    const isAnswered = async (): Promise<boolean> =>
      /balanced/.test((await machine.run("busybox", ["sh", "-c", ask])).stdout);
    await until(isAnswered, { timeoutMs: 60_000 });
    const isAnsweredInPod = async (): Promise<boolean> =>
      /balanced/.test(await kubectl("exec", "deployment/shop", "--", "sh", "-c", ask));
    await until(isAnsweredInPod, { timeoutMs: 60_000 });
  }, 180_000);

  test("a NetworkPolicy keeps a pod from calling another on the same node; a Corefile in the ConfigMap coredns acts", async () => {
    await apply({
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "closed" },
      spec: { podSelector: { matchLabels: { app: "site" } }, policyTypes: ["Ingress"] },
    });
    const rules = (): Promise<{ stdout: string }> =>
      machine.run("nft", ["list", "table", "inet", "k8ts-network-policy"]);
    await until(async () => (await rules()).stdout.includes("drop"), { timeoutMs: 60_000 });
    const Corefile = ". {\n hosts {\n  192.0.2.7 printer.lan\n }\n}";
    await apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "coredns", namespace: "kube-system" },
      data: { Corefile },
    });
    const script = [
      "until nslookup printer.lan | grep 192.0.2.7; do sleep 0.2; done",
      "nc -w 2 $SITE_SERVICE_HOST 80 </dev/null || echo kept away",
    ].join("; ");
    await kubectl("run", "kept", `--image=${IMAGE}`, "--restart=Never", "--", "sh", "-c", script);
    const ended = "--for=jsonpath={.status.phase}=Succeeded";
    await kubectl("wait", ended, "pod/kept", "--timeout=60s");
    const output = await kubectl("logs", "kept");
    assert.match(output, /192\.0\.2\.7/);
    assert.match(output, /kept away/);
    await kubectl("delete", "configmap", "-n", "kube-system", "coredns");
    await kubectl("delete", "networkpolicy", "closed");
  }, 200_000);

  test("a Job completes", async () => {
    await kubectl("create", "job", "once", `--image=${IMAGE}`, "--", "sh", "-c", "echo done");
    await kubectl("wait", "--for=condition=complete", "job/once", "--timeout=60s");
    assert.equal(await kubectl("logs", "job/once"), "done\n");
  }, 120_000);

  test("SIGTERM ends it with its pods: no process, mount or cgroup is left", async () => {
    await kubectl("create", "deployment", "left", `--image=${IMAGE}`, "--", "sh", "-c", LOOP);
    await kubectl("rollout", "status", "deployment/left", "--timeout=60s");
    end();
    assert.equal(await exit, 0, log);
    const processes = (await machine.run("ps", ["-eo", "args"])).stdout;
    assert.doesNotMatch(processes, /containerd|sleep 1$|\/pause/m);
    const mounts = (await machine.run("cat", ["/proc/mounts"])).stdout;
    assert.ok(!mounts.includes("/run/k8ts/"), mounts);
    const { containerdState, cgroupRoot } = nodePaths(data, "k8ts-node");
    assert.equal((await machine.run("ls", [containerdState])).exitCode, 2, "no socket is left");
    const groups = await readdir("/sys/fs/cgroup", { recursive: true }).catch(() => []);
    const left = groups.filter((name) => name.endsWith(cgroupRoot));
    assert.deepEqual(left, [], "no cgroup is left");
  }, 120_000);
});

async function buildImage(machine: Machine, data: string): Promise<void> {
  const root = join(machine.dir, "busybox");
  mkdirSync(join(root, "bin"), { recursive: true });
  copyFileSync("/bin/busybox", join(root, "bin", "busybox"));
  chmodSync(join(root, "bin", "busybox"), 0o755);
  for (const name of ["sh", "sleep", "echo", "nc", "httpd", "nslookup", "printf"])
    symlinkSync("busybox", join(root, "bin", name));
  const args = ["image", "build", root, "-t", IMAGE, "--env", "PATH=/bin", "--data", data];
  const built = await machine.run(process.execPath, [PROGRAM, ...args]);
  if (built.exitCode !== 0) throw new Error(built.stderr);
}
