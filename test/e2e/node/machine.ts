/**
 * A machine inside the machine: its own network, mounts, processes and IPC, no way out to any
 * network. When its first process is killed, every process in it ends and every mount is gone, so a
 * failed test leaves nothing behind. Cgroups are shared with the real machine: everything below the
 * machine's own cgroup is removed at the end.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readdir, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ProgramResult, runProgram } from "#host/run-program.ts";
import { missingProgram } from "../../../tools/debian-packages.ts";

export interface Machine extends AsyncDisposable {
  /** A folder that is there outside too. */
  readonly dir: string;
  /** The arguments of `nsenter` for a program outside that uses the machine's network. */
  readonly enterNetwork: readonly string[];
  /** Below it lies every cgroup that the machine makes. */
  readonly cgroupRoot: string;
  run(program: string, args: readonly string[], input?: string): Promise<ProgramResult>;
  /** A program that goes on; it ends with the machine. */
  start(program: string, args: readonly string[], env?: Record<string, string>): ChildProcess;
}

const NEEDED = ["containerd", "runc", "crun", "busybox", "iptables", "nft", "/usr/lib/cni/bridge"];

export async function startMachine(): Promise<Machine> {
  for (const program of NEEDED) {
    const why = missingProgram(program);
    if (why !== undefined) throw new Error(`a node cannot be tested: ${why}`);
  }
  const dir = await mkdtemp(join(tmpdir(), "k8ts-node-"));
  const cgroupRoot = `/k8ts-e2e-${dir.slice(dir.lastIndexOf("-") + 1)}`;
  const flags = ["--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--mount-proc"];
  const init = spawn(
    "unshare",
    [...flags, "--propagation", "private", "--kill-child", "bash", "-c", INIT_SCRIPT],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  // Unshare may also be ended with the test's own process: then the kernel kills what is inside.
  const pid = await new Promise<number>((resolve, reject) => {
    init.on("error", reject);
    init.on("exit", (code) => reject(new Error(`unshare ended with ${code}`)));
    init.stdout?.once("data", () => resolve(init.pid!));
  });
  const inner = await childOf(pid);
  const enter = ["--target", String(inner), "--net", "--mount", "--pid", "--ipc", "--uts"];
  return {
    dir,
    enterNetwork: ["--target", String(inner), "--net"],
    cgroupRoot,
    run: (program, args, input) =>
      runProgram("nsenter", [...enter, program, ...args], input === undefined ? {} : { input }),
    start: (program, args, env = {}) =>
      spawn("nsenter", [...enter, program, ...args], {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, ...env },
      }),
    [Symbol.asyncDispose]: async () => {
      // `k8ts up` in the machine has a folder there for each of its nodes, named as the node's cgroup.
      const nodes = await readdir(`/proc/${inner}/root/run/k8ts`).catch(() => []);
      const ended = new Promise((resolve) => init.once("exit", resolve));
      init.kill("SIGKILL"); // --kill-child ends the first process inside, and with it all others
      await ended;
      for (const root of [cgroupRoot, ...nodes.map((id) => `/k8ts-${id}`)])
        await removeCgroups(root);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** /run is its own (network namespaces and sockets of containers), loopback is up, and a process that collects orphans stays. */
const INIT_SCRIPT = `mount -t tmpfs tmpfs /run; mkdir -p /var/lib/cni; mount -t tmpfs tmpfs /var/lib/cni; ip link set lo up; hostname k8ts-node; echo up; while :; do sleep 1000 & wait $!; done`;

async function childOf(pid: number): Promise<number> {
  const { stdout } = await runProgram("pgrep", ["-P", String(pid)]);
  return Number(stdout.trim().split("\n")[0]);
}

/** Both layouts: one tree, or one for each controller. Processes are gone, but slowly. */
async function removeCgroups(root: string): Promise<void> {
  const tops = await readdir("/sys/fs/cgroup");
  for (let attempt = 0; attempt < 50; attempt++) {
    const left = await Promise.all(
      ["", ...tops].map((top) => removeBelow(join("/sys/fs/cgroup", top, root))),
    );
    if (left.every((gone) => gone)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function removeBelow(path: string): Promise<boolean> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return true;
  for (const entry of entries) if (entry.isDirectory()) await removeBelow(join(path, entry.name));
  return rmdir(path).then(
    () => true,
    () => false,
  );
}
