/**
 * A node and a control plane in two network namespaces of one machine. The control plane can answer the
 * node, but has no route to the node's own address (192.168.77.1) or to its pods: what is not tunnelled
 * fails. The node has containerd, a kubelet and one pod; the control plane can be started again with
 * other flags on the same data.
 */
import type { ChildProcess } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ProgramResult, runProgram } from "#host/run-program.ts";
import { buildProgram, PROGRAM } from "../../built-program.ts";
import { NODE, writeNodeKubeconfig } from "../node/cluster.ts";
import { until } from "../node/eventually.ts";
import { type Machine, startMachine } from "../node/machine.ts";
import { BUSYBOX, startRuntime } from "../node/runtime.ts";

export const NODE_ADDRESS = "192.168.77.1";
/** Where agents of the node reach servers of the control plane. */
export const CONTROL_ADDRESS = "192.168.88.1";
const API_PORT = 6443;
const CIDR = "10.244.0.0/24";
export const LONG = { timeoutMs: 90_000, everyMs: 100 };

export interface Started {
  readonly child: ChildProcess;
  output(): string;
  /** SIGKILL, and waits for its end. */
  kill(): Promise<void>;
}

export interface SplitMachine extends AsyncDisposable {
  readonly machine: Machine;
  readonly dir: string;
  /** Programs of the control plane's side; kubectl runs there, too. */
  onControl(program: string, ...args: string[]): Started;
  onNode(program: string, ...args: string[]): Started;
  k8ts(...args: string[]): string[];
  /** Ends the control plane that runs, and waits until the next one is ready. */
  startControlPlane(...flags: string[]): Promise<Started>;
  tryControl(program: string, ...args: string[]): Promise<ProgramResult>;
  tryKubectl(...args: string[]): Promise<ProgramResult>;
  /** stdout; fails unless it exits with 0. */
  kubectl(...args: string[]): Promise<string>;
  apply(...objects: object[]): Promise<void>;
}

const LINKS = [
  "ip netns add control",
  "ip link add up0 type veth peer name down0",
  "ip link set down0 netns control",
  "ip addr add 192.168.88.2/24 dev up0 && ip link set up0 up",
  `ip netns exec control ip addr add ${CONTROL_ADDRESS}/24 dev down0`,
  "ip netns exec control ip link set down0 up",
  "ip netns exec control ip link set lo up",
  `ip link add node0 type bridge && ip addr add ${NODE_ADDRESS}/24 dev node0 && ip link set node0 up`,
].join(" && ");

export async function startSplitMachine(): Promise<SplitMachine> {
  buildProgram();
  const machine = await startMachine();
  try {
    const split = createSplit(machine);
    const [runtime] = await Promise.all([
      startRuntime(machine),
      split.startControlPlane(), // first without a tunnel
    ]);
    await addNode(split, runtime);
    return split;
  } catch (error) {
    await machine[Symbol.asyncDispose]();
    throw error;
  }
}

function createSplit(machine: Machine): SplitMachine {
  const { dir } = machine;
  const data = join(dir, "data");
  const inControl = ["netns", "exec", "control"];
  const start = (program: string, args: readonly string[]): Started => {
    const child = machine.start(program, args);
    let log = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk) => {
        log = (log + chunk).slice(-100_000);
      });
    }
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    return {
      child,
      output: () => log,
      kill: async () => {
        // nsenter has forked: its child is the program.
        await runProgram("pkill", ["-KILL", "-P", String(child.pid)]);
        await ended;
      },
    };
  };
  const tryControl: SplitMachine["tryControl"] = (program, ...args) =>
    machine.run("ip", [...inControl, program, ...args]);
  const tryKubectl: SplitMachine["tryKubectl"] = (...args) =>
    tryControl("kubectl", "--kubeconfig", join(data, "kubeconfig"), ...args);
  const kubectl: SplitMachine["kubectl"] = async (...args) => {
    const result = await tryKubectl(...args);
    if (result.exitCode === 0) return result.stdout;
    throw new Error(`kubectl ${args.join(" ")}: ${result.stderr}`);
  };
  const onControl: SplitMachine["onControl"] = (program, ...args) =>
    start("ip", [...inControl, program, ...args]);
  const k8ts = (...args: string[]): string[] => [PROGRAM, ...args];
  let control: Started | undefined;
  let isLinked = false;
  return {
    ...{ machine, dir, tryControl, tryKubectl, kubectl, onControl, k8ts },
    onNode: (program, ...args) => start(program, args),
    startControlPlane: async (...flags) => {
      if (!isLinked) {
        const linked = await machine.run("sh", ["-c", LINKS]);
        if (linked.exitCode !== 0) throw new Error(linked.stderr);
        isLinked = true;
      }
      await control?.kill();
      rmSync(join(data, "config.yaml"), { force: true }); // flags of the start before
      const own = ["--no-metrics", "--no-ingress", "--bind-address", "0.0.0.0"];
      const up = ["up", "--foreground", "--no-node", "--data", data, "--port", String(API_PORT)];
      const started = onControl(process.execPath, ...k8ts(...up, ...own, ...flags));
      control = started;
      await until(() => started.output().includes("KUBECONFIG"), LONG).catch(() => {
        throw new Error(`the control plane does not start: ${started.output()}`);
      });
      return started;
    },
    apply: async (...items) => {
      const file = join(dir, "apply.json");
      writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
      await kubectl("apply", "-f", file);
    },
    [Symbol.asyncDispose]: () => machine[Symbol.asyncDispose](),
  };
}

async function addNode(
  split: SplitMachine,
  runtime: { readonly endpoint: string; readonly cniConf: string },
): Promise<void> {
  const { dir, machine } = split;
  const kubeconfig = join(dir, "node.kubeconfig");
  mkdirSync(join(dir, "manifests"));
  await writeNodeKubeconfig(
    join(dir, "data"),
    kubeconfig,
    `https://${CONTROL_ADDRESS}:${API_PORT}`,
  );
  await split.apply(
    {
      ...{ apiVersion: "v1", kind: "Node", metadata: { name: NODE } },
      spec: { podCIDR: CIDR, podCIDRs: [CIDR] },
    },
    {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "web", labels: { app: "web" } } },
      spec: {
        containers: [
          {
            ...{ name: "web", image: BUSYBOX, ports: [{ containerPort: 8080 }] },
            command: ["sh", "-c", WEB],
          },
          {
            ...{ name: "ticker", image: BUSYBOX },
            command: ["sh", "-c", "while :; do echo tick; sleep 0.2; done"],
          },
        ],
        terminationGracePeriodSeconds: 0,
      },
    },
    {
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: "web" } },
      spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] },
    },
  );
  const kubelet = split.onNode(
    process.execPath,
    ...split.k8ts(
      ...["kubelet", "--kubeconfig", kubeconfig, "--hostname-override", NODE],
      ...["--container-runtime-endpoint", runtime.endpoint, "--cni-conf-dir", runtime.cniConf],
      ...["--root-dir", join(dir, "kubelet"), "--pod-log-dir", join(dir, "logs")],
      ...["--cgroup-root", machine.cgroupRoot, "--node-ip", NODE_ADDRESS, "--resolv-conf="],
      ...["--client-ca-file", join(dir, "data/pki/ca.crt")],
    ),
  );
  const running = async (): Promise<boolean> =>
    (await split.tryKubectl("get", "pod", "web", "-o", "jsonpath={.status.phase}")).stdout ===
    "Running";
  await until(running, LONG).catch(async () => {
    const described = await split.tryKubectl("describe", "pod", "web");
    throw new Error(`the pod does not run: ${described.stdout}\n${kubelet.output()}`);
  });
}

/** One line of log, and a page. */
const WEB =
  "mkdir /www && echo through-the-tunnel > /www/index.html && echo hello-from-the-node && exec httpd -f -p 8080 -h /www";
