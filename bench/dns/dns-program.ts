/** `k8ts dns` as users start it, in a test machine with an API server that has thousands of Services. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LAUNCHER } from "../../test/built-program.ts";
import { startMachine } from "../../test/e2e/node/machine.ts";
import { startControlPlane } from "../proxy/control-plane.ts";
import { FILL_SCRIPT } from "../proxy/scripts.ts";
import { CHANGE_SCRIPT, LOAD_SCRIPT } from "./scripts.ts";

export interface DnsProgramFigures {
  readonly answersPerSecond: number;
  /** By the processor time of the server: what one core could do. */
  readonly answersPerCpuSecond: number;
  /** With more different queries than the server keeps answers of. */
  readonly firstAnswersPerCpuSecond: number;
  readonly changeMs: number;
  readonly memoryMb: number;
}

const LOAD_MS = 5_000;
const WARM_UP_MS = 2_000;
const REST_MS = 10_000;
const ENDPOINTS = 2;
const TICK_MS = 10;
const REPEATED_QUERIES = 1_000;
const DIFFERENT_QUERIES = 10_000;

export async function measureDnsProgram(services: number): Promise<DnsProgramFigures> {
  await using machine = await startMachine();
  const data = await startControlPlane(machine, "10.96.0.0/16");
  const script = async (code: string, ...args: readonly string[]): Promise<number> => {
    const { exitCode, stdout, stderr } = await machine.run(process.execPath, ["-e", code, ...args]);
    assert.equal(exitCode, 0, stderr);
    return Number(stdout);
  };
  await script(FILL_SCRIPT, String(services), String(ENDPOINTS), "10.244.0.5");
  const kubeconfig = join(data, "controller-manager.kubeconfig");
  machine
    .start(LAUNCHER, ["dns", "--kubeconfig", kubeconfig, "--listen", "127.0.0.1"])
    .stderr?.resume();
  const changeMs = await script(CHANGE_SCRIPT);
  const load = (ms: number, different: number): Promise<number> =>
    script(LOAD_SCRIPT, String(ms), String(services), String(different));
  await load(WARM_UP_MS, REPEATED_QUERIES);
  const pid = (await machine.run("pgrep", ["-f", "-o", " [d]ns --kubeconfig"])).stdout.trim();
  const cpuMs = async (): Promise<number> => {
    const fields = (await machine.run("cat", [`/proc/${pid}/stat`])).stdout.split(" ");
    return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
  };
  const measured = async (
    different: number,
  ): Promise<{ answers: number; perCpuSecond: number }> => {
    const before = await cpuMs();
    const answers = await load(LOAD_MS, different);
    return { answers, perCpuSecond: answers / (((await cpuMs()) - before) / 1_000) };
  };
  const repeated = await measured(REPEATED_QUERIES);
  const first = await measured(DIFFERENT_QUERIES);
  await sleep(REST_MS);
  const status = (await machine.run("cat", [`/proc/${pid}/status`])).stdout;
  return {
    answersPerSecond: repeated.answers / (LOAD_MS / 1_000),
    answersPerCpuSecond: repeated.perCpuSecond,
    firstAnswersPerCpuSecond: first.perCpuSecond,
    changeMs,
    memoryMb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024,
  };
}
