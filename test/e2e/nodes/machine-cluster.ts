/** The built program in a machine of its own without a way out, as the tests of several nodes use it. */
import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProgramResult } from "#host/run-program.ts";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { buildProgram, PROGRAM } from "../../built-program.ts";
import { type Machine, startMachine } from "../node/machine.ts";

export const IMAGE = "k8ts.local/web:1";

/** Answers with the address of the caller. */
const WHO = `#!/bin/sh
caller=\${REMOTE_ADDR#\\[::ffff:}
printf 'Content-type: text/plain\\r\\n\\r\\n%s\\n' "\${caller%]}"
`;
const APPLETS = ["sh", "nc", "httpd", "nslookup", "tail", "cat", "sleep"];

export interface MachineCluster extends AsyncDisposable {
  readonly machine: Machine;
  readonly data: string;
  /** stdout; fails unless it exits with 0. */
  k8ts(...args: string[]): Promise<string>;
  kubectl(...args: string[]): Promise<string>;
  run(program: string, ...args: string[]): Promise<string>;
  tryRun(program: string, ...args: string[]): Promise<ProgramResult>;
}

/** The machine has one interface, which leads nowhere. Nothing runs in it yet. */
export async function prepareMachine(): Promise<MachineCluster> {
  for (const program of ["containerd", "runc", "busybox", "nft", "conntrack"]) {
    const why = missingProgram(program);
    if (why !== undefined) throw new Error(why);
  }
  buildProgram();
  const machine = await startMachine();
  const data = join(machine.dir, "data");
  const home = [`HOME=${machine.dir}`, `KUBECONFIG=${join(data, "kubeconfig")}`];
  const tryRun: MachineCluster["tryRun"] = (program, ...args) =>
    machine.run("env", [...home, program, ...args]);
  const run: MachineCluster["run"] = async (program, ...args) => {
    const result = await tryRun(program, ...args);
    if (result.exitCode === 0) return result.stdout;
    const log = await tryRun("tail", "-n", "30", join(data, "logs", "k8ts.log"));
    throw new Error(
      `${program} ${args.join(" ")}: ${result.stdout}${result.stderr}\n${log.stdout}`,
    );
  };
  const link = "ip link add node0 type veth peer name node1 && ip link set node1 up";
  const address = "ip addr add 192.168.77.1/24 dev node0 && ip link set node0 up";
  await run("sh", "-c", `${link} && ${address}`);
  return {
    ...{ machine, data, run, tryRun },
    k8ts: (...args) => run(process.execPath, PROGRAM, ...args, "--data", data),
    kubectl: (...args) => run("kubectl", ...args),
    [Symbol.asyncDispose]: () => machine[Symbol.asyncDispose](),
  };
}

/** A web server that responds with the client's address, as an image on all nodes. */
export async function buildWebImage({ machine, k8ts }: MachineCluster): Promise<void> {
  const root = join(machine.dir, "web");
  mkdirSync(join(root, "bin"), { recursive: true });
  mkdirSync(join(root, "www/cgi-bin"), { recursive: true });
  copyFileSync("/bin/busybox", join(root, "bin/busybox"));
  chmodSync(join(root, "bin/busybox"), 0o755);
  for (const name of APPLETS) symlinkSync("busybox", join(root, "bin", name));
  writeFileSync(join(root, "www/cgi-bin/who"), WHO, { mode: 0o755 });
  await k8ts("image", "build", root, "-t", IMAGE, "--env", "PATH=/bin");
}

const SERVE = ["httpd", "-f", "-p", "8080", "-h", "/www"];
const READINESS = { tcpSocket: { port: 8080 }, periodSeconds: 1 };

/**
 * Six such servers as a Deployment, and a Service for them at node port 30081. They listen a moment after
 * they have started, and go on answering while they terminate.
 */
export function rollingObjects(): string {
  const labels = { app: "rolling" };
  const container = {
    ...{ name: "web", image: IMAGE, readinessProbe: READINESS },
    command: ["sh", "-c", `sleep 0.5; exec ${SERVE.join(" ")}`],
  };
  const spec = { containers: [container], terminationGracePeriodSeconds: 30 };
  const ports = [{ port: 80, targetPort: 8080, nodePort: 30081 }];
  return JSON.stringify({
    apiVersion: "v1",
    kind: "List",
    items: [
      {
        ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "rolling" } },
        spec: {
          ...{ replicas: 6, selector: { matchLabels: labels } },
          template: { metadata: { labels }, spec },
        },
      },
      {
        ...{ apiVersion: "v1", kind: "Service", metadata: { name: "rolling" } },
        spec: { type: "NodePort", selector: labels, ports },
      },
    ],
  });
}

/** One such server on the node, and a load balancer for it that keeps the addresses of clients. */
export function balancedObjects(nodeName: string): string {
  const labels = { app: "balanced" };
  const container = { name: "web", image: IMAGE, command: SERVE, readinessProbe: READINESS };
  const spec = { nodeName, containers: [container], terminationGracePeriodSeconds: 1 };
  const ports = [{ port: 80, targetPort: 8080 }];
  return JSON.stringify({
    apiVersion: "v1",
    kind: "List",
    items: [
      { apiVersion: "v1", kind: "Pod", metadata: { name: `on-${nodeName}`, labels }, spec },
      {
        ...{ apiVersion: "v1", kind: "Service", metadata: { name: "balanced" } },
        spec: { type: "LoadBalancer", externalTrafficPolicy: "Local", selector: labels, ports },
      },
    ],
  });
}

/** One such server on every node, and a Service for them. */
export function webObjects(): string {
  const container = { name: "web", image: IMAGE, command: SERVE, readinessProbe: READINESS };
  const labels = { app: "web" };
  const spec = { containers: [container], terminationGracePeriodSeconds: 1 };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "List",
    items: [
      {
        ...{ apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name: "web" } },
        spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
      },
      {
        ...{ apiVersion: "v1", kind: "Service", metadata: { name: "web" } },
        spec: {
          ...{ type: "NodePort", selector: labels },
          ports: [{ port: 80, targetPort: 8080, nodePort: 30080 }],
        },
      },
    ],
  });
}

export interface WebPod {
  readonly name: string;
  readonly node: string;
  readonly ip: string;
}

export async function webPods({ kubectl }: MachineCluster): Promise<readonly WebPod[]> {
  const path = `{range .items[*]}{.metadata.name} {.spec.nodeName} {.status.podIP}{"\\n"}{end}`;
  const text = await kubectl("get", "pods", "-l", "app=web", "-o", `jsonpath=${path}`);
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const [name = "", node = "", ip = ""] = line.split(" ");
      return { name, node, ip };
    });
}

/** What the server at each address says of the caller, one line each. */
export function askEach(targets: readonly string[]): string {
  const ask = `printf 'GET /cgi-bin/who HTTP/1.0\\r\\n\\r\\n' | nc -w 10 $host $port | tail -n 1`;
  return targets
    .map((target) => `host=${target.split(":")[0]}; port=${target.split(":")[1]}; ${ask}`)
    .join("; ");
}
