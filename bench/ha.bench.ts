/**
 * A control plane of three machines (namespaces of this one) that rests: `k8ts up --etcd managed` on the
 * first, `k8ts join --control-plane` on the others. What everything but etcd takes on each of them.
 */
import { systemClock } from "#lib/time/system-clock.ts";
import { startMachines, type TestMachine } from "../test/ha/machines.ts";
import { missingProgram } from "../tools/debian-packages.ts";
import { LAUNCHER, launcherMs } from "./load/server-processes.ts";
import { type BenchOptions, type Row, wanted } from "./row.ts";

export const name = "ha";

const IDLE_MB = 150;
/** Percent of one core. */
const IDLE_CPU = 1;
const SETTLE_MS = 30_000;
const TICK_MS = 10;

export async function* run({ quick, progress, signal }: BenchOptions): AsyncIterable<Row> {
  const missing = missingProgram("etcd");
  if (missing !== undefined) {
    yield { name: `${missing}: nothing was measured`, value: 0, unit: "" };
    return;
  }
  await launcherMs(); // builds if need be
  progress("three machines");
  await using all = await startMachines(3);
  const [first, ...others] = all.machines as [TestMachine, ...TestMachine[]];
  await k8ts(first, "up", "--no-node", "--etcd", "managed", "--bind-address", "0.0.0.0");
  const printed = await k8ts(first, "token", "create", "--control-plane", "--print-join-command");
  for (const machine of others) await k8ts(machine, ...printed.trim().split(" ").slice(1));
  progress("rest");
  await systemClock.sleep(SETTLE_MS, signal);
  const before = await Promise.all(all.machines.map(usage));
  const windowMs = quick ? 20_000 : 60_000;
  const startMs = performance.now();
  await systemClock.sleep(windowMs, signal);
  const after = await Promise.all(all.machines.map(usage));
  const tookMs = performance.now() - startMs;
  const shares = after.map(({ cpuMs }, at) => ((cpuMs - before[at]!.cpuMs) / tookMs) * 100);
  const memory = after.map(({ residentMb }) => residentMb);
  // The leader of the election does the work of all: it is the one that counts.
  yield wanted("idle memory of a machine without etcd", Math.max(...memory), "MB", IDLE_MB);
  yield { name: "… of the smallest", value: Math.min(...memory), unit: "MB" };
  yield wanted("idle processor time", Math.max(...shares), "% of a core", IDLE_CPU);
  yield { name: "… of the smallest", value: Math.min(...shares), unit: "% of a core" };
}

function k8ts(machine: TestMachine, ...args: string[]): Promise<string> {
  return machine.run(LAUNCHER, ...args, "--data", machine.data);
}

interface Usage {
  readonly cpuMs: number;
  readonly residentMb: number;
}

/** Of all processes of the program on a machine. */
async function usage(machine: TestMachine): Promise<Usage> {
  const pids = (await machine.run("pgrep", "-f", "k8ts\\.js")).trim().split("\n");
  let total: Usage = { cpuMs: 0, residentMb: 0 };
  for (const pid of pids) {
    const stat = await machine.run("cat", `/proc/${pid}/stat`);
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // from the third on
    const status = await machine.run("cat", `/proc/${pid}/status`);
    total = {
      cpuMs: total.cpuMs + (Number(fields[11]) + Number(fields[12])) * TICK_MS,
      residentMb: total.residentMb + Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024,
    };
  }
  return total;
}
