/** The servers that benchmarks put under load, each in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "#testing/free-ports.ts";
import { openHttp1 } from "./http1-asker.ts";
import { type Identity, identityOf } from "./tls-identity.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const LAUNCHER = join(ROOT, "k8ts");
const READY_WITHIN_MS = 120_000;
const POLL_MS = 3;

export interface ServerProcess extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  readonly identity: Identity;
  /** From the start of the process until /readyz said yes. */
  readonly readyMs: number;
  /** From the start of the process until it printed that it is ready. */
  readonly printedMs: Promise<number>;
  /** Asks it to end, and says how long that took. */
  endMs(): Promise<number>;
}

/** The built program as a user starts it; builds it first if need be. */
export async function startProgram(
  command: readonly string[],
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const port = await freePort();
  const portFlag = command[0] === "up" ? "--port" : "--secure-port";
  const dataFlag = command[0] === "up" ? "--data" : "--data-dir";
  const args = [...command, dataFlag, dataDir, portFlag, `${port}`, "--bind-address", "127.0.0.1"];
  const startMs = performance.now();
  const child = spawn(LAUNCHER, args, {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, ...env },
  });
  const printedMs = new Promise<number>((resolve) => {
    child.stdout.once("data", () => resolve(performance.now() - startMs));
  });
  const identity = await untilReady(child, port, join(dataDir, "admin.kubeconfig"));
  return { ...running(child, port), identity, printedMs, readyMs: performance.now() - startMs };
}

/** See bare-server.ts. */
export async function startBareServer(
  directory: string,
  pki: string,
  identity: Identity,
): Promise<ServerProcess> {
  const script = fileURLToPath(new URL("bare-server.ts", import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, script, directory, pki], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the bare server ended with ${code}`)));
    child.stdout.once("data", (line: Buffer) => resolve(Number(line.toString())));
  });
  const never = Promise.resolve(Number.NaN);
  return { ...running(child, port), identity, printedMs: never, readyMs: Number.NaN };
}

/** How long `./k8ts --version` takes: the launcher, and Node's own start. */
export async function launcherMs(): Promise<number> {
  const startMs = performance.now();
  const child = spawn(LAUNCHER, ["--version"], { stdio: "ignore" });
  await new Promise((resolve) => child.once("exit", resolve));
  return performance.now() - startMs;
}

/** Memory that a process really holds. */
export function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** The part of it that belongs to files: the program, and what of the store the kernel has in memory anyway. */
export function residentFilesMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/RssFile:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** Processor time that a process has used so far. */
export function cpuMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" "); // from the third on
  return (Number(fields[11]) + Number(fields[12])) * 10; // user and system, in ticks of 10 ms
}

export function running(
  child: ChildProcess,
  port: number,
): Pick<ServerProcess, "port" | "pid" | "endMs" | typeof Symbol.asyncDispose> {
  const exit = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return {
    port,
    pid: child.pid!,
    endMs: async () => {
      const startMs = performance.now();
      child.kill("SIGTERM");
      await exit;
      return performance.now() - startMs;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await exit;
    },
  };
}

export async function untilReady(
  child: ChildProcess,
  port: number,
  kubeconfig: string,
): Promise<Identity> {
  const startMs = performance.now();
  const isOver = (): boolean => performance.now() - startMs > READY_WITHIN_MS;
  while (!isOver()) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    try {
      const identity = identityOf(kubeconfig);
      if (await isReady(port, identity, isOver)) return identity;
    } catch {
      await pause(); // there is no kubeconfig yet, or nothing listens
    }
  }
  child.kill("SIGKILL");
  throw new Error(`the server was not ready within ${READY_WITHIN_MS} ms`);
}

/** Asks over one connection: handshakes of many would be a good part of what a start costs. */
async function isReady(port: number, identity: Identity, isOver: () => boolean): Promise<boolean> {
  using asker = await openHttp1(port, identity);
  while (!isOver()) {
    const isWell = await asker.ask({ method: "GET", path: "/readyz" }).then(
      () => true,
      (error: Error) => (/^\d{3}: /.test(error.message) ? false : Promise.reject(error)),
    );
    if (isWell) return true;
    await pause();
  }
  return false;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS));
}
