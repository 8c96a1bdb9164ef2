/**
 * A cluster with one real node in a machine of its own: `k8ts up --no-node`, containerd and
 * `k8ts kubelet`, the last as system:node:NAME. kubectl runs beside them.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ProgramResult } from "#host/run-program.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { buildProgram, PROGRAM } from "../../built-program.ts";
import { until } from "./eventually.ts";
import { type Machine, startMachine } from "./machine.ts";
import { type Runtime, startRuntime } from "./runtime.ts";

export const NODE = "node-1";
const PORT = 6443;
const CIDR = "10.244.0.0/24";

export interface NodeCluster extends AsyncDisposable {
  readonly machine: Machine;
  readonly runtime: Runtime;
  /** stdout; fails unless it exits with 0. */
  kubectl(...args: string[]): Promise<string>;
  tryKubectl(args: readonly string[], input?: string): Promise<ProgramResult>;
  apply(...objects: object[]): Promise<void>;
  pod(name: string): Promise<PodView>;
  /** Kills the kubelet (SIGKILL) or ends it (SIGTERM). */
  stopKubelet(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  startKubelet(...moreArgs: string[]): void;
  /** Kills the control plane (SIGKILL); its data stay. */
  killControlPlane(): Promise<void>;
  /** Resolves when it is ready again. */
  startControlPlane(): Promise<void>;
  log(): string;
}

/** What tests look at. */
export interface PodView {
  readonly metadata: { readonly uid: string };
  readonly status: {
    readonly phase: string;
    readonly reason?: string;
    readonly message?: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly ContainerView[];
    readonly initContainerStatuses?: readonly ContainerView[];
    readonly ephemeralContainerStatuses?: readonly ContainerView[];
  };
}

export interface ContainerView {
  readonly name: string;
  readonly ready: boolean;
  readonly started?: boolean;
  readonly restartCount: number;
  readonly containerID?: string;
  readonly state: StateView;
  readonly lastState: StateView;
}

interface StateView {
  readonly waiting?: { readonly reason: string; readonly message?: string };
  readonly running?: object;
  readonly terminated?: {
    readonly exitCode: number;
    readonly reason: string;
    readonly message?: string;
  };
}

export interface NodeClusterOptions {
  /** More environment of the kubelet, by the machine's folder. */
  env?(dir: string): Record<string, string>;
  /** What runs the kubelet: `node dist/k8ts.js` unless given. */
  readonly kubeletProgram?: string;
  /** More flags of the control plane. */
  readonly upArgs?: readonly string[];
  /** Before anything runs on the machine. */
  prepare?(machine: Machine): Promise<void>;
}

export async function startNodeCluster(
  /** More flags of the kubelet, by the machine's folder. */
  kubeletArgs: (dir: string) => readonly string[] = () => [],
  options: NodeClusterOptions = {},
): Promise<NodeCluster> {
  buildProgram();
  const machine = await startMachine();
  try {
    await mkdir(join(machine.dir, "manifests"));
    await options.prepare?.(machine);
    return await startIn(machine, kubeletArgs(machine.dir), options);
  } catch (error) {
    await machine[Symbol.asyncDispose]();
    throw error;
  }
}

async function startIn(
  machine: Machine,
  kubeletArgs: readonly string[],
  { env, kubeletProgram, upArgs = [] }: NodeClusterOptions,
): Promise<NodeCluster> {
  const { dir } = machine;
  const kubeletEnv = env?.(dir) ?? {};
  const data = join(dir, "data");
  let log = "";
  const run = (
    name: string,
    args: readonly string[],
    env: Record<string, string> = {},
    [program, ...first]: readonly [string, ...string[]] = [process.execPath, PROGRAM],
  ): ReturnType<Machine["start"]> => {
    const child = machine.start(program, [...first, ...args], env);
    const keep = (chunk: Buffer): void => {
      log = (log + String(chunk).replace(/^/gm, `${name}: `)).slice(-200_000);
    };
    child.stdout?.on("data", keep);
    child.stderr?.on("data", keep);
    return child;
  };
  // An address that pods and the API server share, on an interface that leads nowhere.
  await machine.run("sh", [
    "-c",
    "ip link add node0 type bridge && ip addr add 192.168.77.1/24 dev node0 && ip link set node0 up",
  ]);
  const up = ["up", "--foreground", "--no-node", "--data", data, "--port", String(PORT), ...upArgs];
  let controlPlane: ReturnType<Machine["start"]> | undefined;
  const startControlPlane = async (): Promise<void> => {
    const starts = (): number => log.split("KUBECONFIG").length;
    const before = starts();
    controlPlane = run("up", up);
    await until(() => starts() > before, { timeoutMs: 60_000 }).catch(() => {
      throw new Error(`the control plane does not start: ${log}`);
    });
  };
  const kill = async (
    pattern: string,
    signal: string,
    child: typeof controlPlane,
  ): Promise<void> => {
    const ended = new Promise((resolve) => child?.once("exit", resolve));
    const pids = await machine.run("pgrep", ["-f", pattern]);
    for (const pid of pids.stdout.trim().split("\n"))
      await machine.run("kill", [`-${signal}`, pid]);
    await ended;
  };
  const [runtime] = await Promise.all([startRuntime(machine), startControlPlane()]);
  await writeNodeKubeconfig(data, join(dir, "node.kubeconfig"));
  const kubeconfig = join(data, "kubeconfig");
  const tryKubectl = (args: readonly string[], input?: string): Promise<ProgramResult> =>
    machine.run("kubectl", ["--kubeconfig", kubeconfig, ...args], input);
  const kubectl = async (...args: string[]): Promise<string> => {
    const result = await tryKubectl(args);
    if (result.exitCode !== 0) throw new Error(`kubectl ${args.join(" ")}: ${result.stderr}`);
    return result.stdout;
  };
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: NODE },
    spec: { podCIDR: CIDR, podCIDRs: [CIDR] },
  };
  let kubelet: ReturnType<Machine["start"]> | undefined;
  const startKubelet = (...moreArgs: string[]): void => {
    kubelet = run(
      "kubelet",
      [
        "kubelet",
        ...["--kubeconfig", join(dir, "node.kubeconfig"), "--hostname-override", NODE],
        ...["--container-runtime-endpoint", runtime.endpoint, "--cni-conf-dir", runtime.cniConf],
        ...["--root-dir", join(dir, "kubelet"), "--pod-log-dir", join(dir, "logs")],
        ...["--cgroup-root", machine.cgroupRoot, "--node-ip", "192.168.77.1", "--resolv-conf="],
        ...["--client-ca-file", join(data, "pki/ca.crt")],
        ...[...kubeletArgs, ...moreArgs],
      ],
      kubeletEnv,
      kubeletProgram === undefined ? undefined : [kubeletProgram],
    );
  };
  const cluster: NodeCluster = {
    ...{ machine, runtime, kubectl, tryKubectl, startKubelet, startControlPlane },
    apply: async (...objects) => {
      const text = objects.map((object) => JSON.stringify(object)).join("\n");
      const list = `{"apiVersion":"v1","kind":"List","items":[${text.split("\n").join(",")}]}`;
      const result = await tryKubectl(["apply", "-f", "-"], list);
      if (result.exitCode !== 0) throw new Error(result.stderr);
    },
    pod: async (name) => JSON.parse(await kubectl("get", "pod", name, "-o", "json")) as PodView,
    stopKubelet: (signal) => kill(`${PROGRAM} kubelet`, signal.slice(3), kubelet),
    killControlPlane: () => kill(`${PROGRAM} up`, "KILL", controlPlane),
    log: () => log,
    [Symbol.asyncDispose]: () => machine[Symbol.asyncDispose](),
  };
  await cluster.apply(node);
  startKubelet();
  await until(async () => /True/.test(await readyOf(kubectl)), { timeoutMs: 30_000 }).catch(() => {
    throw new Error(`the node does not become ready: ${log}`);
  });
  return cluster;
}

function readyOf(kubectl: NodeCluster["kubectl"]): Promise<string> {
  const path = `{.status.conditions[?(@.type=="Ready")].status}`;
  return kubectl("get", "node", NODE, "-o", `jsonpath=${path}`);
}

/** Credentials of the node, issued by the authority of the cluster in `data`. */
export async function writeNodeKubeconfig(
  data: string,
  file: string,
  server = `https://127.0.0.1:${PORT}`,
): Promise<void> {
  const nowMs = Date.now();
  const authority = openAuthority(join(data, "pki/ca"), "kubernetes", nowMs);
  const subject = { commonName: `system:node:${NODE}`, organizations: ["system:nodes"] };
  const { certificatePem, keyPem } = issueLeaf(
    authority,
    { subject, purpose: "client auth" },
    nowMs,
  );
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "node",
    contexts: [{ name: "node", context: { cluster: "node", user: "node" } }],
    clusters: [
      {
        name: "node",
        cluster: {
          server,
          "certificate-authority-data": base64(authority.certificatePem),
        },
      },
    ],
    users: [
      {
        name: "node",
        user: {
          "client-certificate-data": base64(certificatePem),
          "client-key-data": base64(keyPem),
        },
      },
    ],
  };
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
}
