/**
 * Machines on one network without a way out, each a set of namespaces (network, mounts, processes, host
 * name) inside a machine of the test's own, so that everything ends with it. The first one has the address
 * 192.168.88.1, and so on; they are `m1`, `m2`, … unless names are given. The network between two of them
 * can be cut.
 */
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import type { ProgramResult } from "#host/run-program.ts";
import { PROGRAM } from "../built-program.ts";
import { type Machine, startMachine } from "../e2e/node/machine.ts";

export interface TestMachine {
  readonly name: string;
  readonly address: string;
  /** The data directory that `k8ts` uses. */
  readonly data: string;
  run(program: string, ...args: string[]): Promise<string>;
  tryRun(program: string, ...args: string[]): Promise<ProgramResult>;
  /** A program that goes on; it ends with the machine. */
  start(program: string, ...args: string[]): ChildProcess;
  k8ts(...args: string[]): Promise<string>;
  kubectl(...args: string[]): Promise<string>;
}

export interface TestMachines extends AsyncDisposable {
  readonly machines: readonly TestMachine[];
  /** A folder that all of them see. */
  readonly dir: string;
  /** Nothing passes between these two, in either direction. */
  cut(a: TestMachine, b: TestMachine): Promise<void>;
  mend(a: TestMachine, b: TestMachine): Promise<void>;
}

/** Its first process writes its number to a file and collects orphans. */
const MACHINE = `
hostname "$1"; mount -t tmpfs tmpfs /run; mkdir -p /var/lib/cni; mount -t tmpfs tmpfs /var/lib/cni; ip link set lo up
while :; do sleep 1000 & wait $!; done
`;

const ADD_MACHINE = `
unshare --net --mount --pid --ipc --uts --fork --mount-proc --propagation private --kill-child bash -c "$4" bash "$1" &
outer=$!
until pid=$(pgrep -P $outer) && [ "$(readlink /proc/$pid/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
ip link add "to-$1" type veth peer name eth0 netns "$pid"
ip link set "to-$1" master lan up
nsenter -t "$pid" -n sh -c "ip addr add $2/24 dev eth0; ip link set eth0 up; ip link set lo up"
echo "$pid" > "$3"
wait
`;

export async function startMachines(which: number | readonly string[]): Promise<TestMachines> {
  const names =
    typeof which === "number" ? Array.from({ length: which }, (_, at) => `m${at + 1}`) : which;
  const outer = await startMachine();
  const bridge = "ip link add lan type bridge && ip link set lan up";
  await mustRun(outer.run("sh", ["-c", bridge]), bridge);
  const machines = await Promise.all(names.map((name, at) => addMachine(outer, name, at + 1)));
  const rule = async (verb: "-A" | "-D", a: TestMachine, b: TestMachine): Promise<void> => {
    for (const direction of ["INPUT", "OUTPUT"]) {
      const peer = direction === "INPUT" ? "-s" : "-d";
      await a.run("iptables", "-w", verb, direction, peer, b.address, "-j", "DROP");
    }
  };
  return {
    machines,
    dir: outer.dir,
    cut: (a, b) => rule("-A", a, b),
    mend: (a, b) => rule("-D", a, b),
    [Symbol.asyncDispose]: () => outer[Symbol.asyncDispose](),
  };
}

async function addMachine(outer: Machine, name: string, number: number): Promise<TestMachine> {
  const address = `192.168.88.${number}`;
  const pidFile = join(outer.dir, `${name}.pid`);
  outer.start("bash", ["-c", ADD_MACHINE, "bash", name, address, pidFile, MACHINE]);
  const wait = `until [ -s ${pidFile} ]; do sleep 0.02; done; cat ${pidFile}`;
  const pid = (await mustRun(outer.run("sh", ["-c", wait]), wait)).trim();
  const data = join(outer.dir, `data-${name}`);
  const env = [
    ...[`HOME=${join(outer.dir, name)}`, `KUBECONFIG=${join(data, "kubeconfig")}`],
    "K8TS_NO_INSTALL=1",
  ];
  const enter = ["-t", pid, "--net", "--mount", "--pid", "--ipc", "--uts", "env", ...env];
  const tryRun: TestMachine["tryRun"] = (program, ...args) =>
    outer.run("nsenter", [...enter, program, ...args]);
  const run: TestMachine["run"] = async (program, ...args) =>
    await mustRun(tryRun(program, ...args), `${name}: ${program} ${args.join(" ")}`);
  const k8ts: TestMachine["k8ts"] = (...args) =>
    run(process.execPath, PROGRAM, ...args, "--data", data);
  const kubectl: TestMachine["kubectl"] = (...args) => run("kubectl", ...args);
  const start: TestMachine["start"] = (program, ...args) =>
    outer.start("nsenter", [...enter, program, ...args]);
  return { name, address, data, run, tryRun, start, k8ts, kubectl };
}

async function mustRun(running: Promise<ProgramResult>, what: string): Promise<string> {
  const { exitCode, stdout, stderr } = await running;
  if (exitCode !== 0) throw new Error(`${what} ended with ${exitCode}: ${stdout}${stderr}`);
  return stdout;
}
