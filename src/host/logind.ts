/**
 * The machine's shutdown as systemd-logind announces it on the system bus (org.freedesktop.login1).
 * `busctl` and `systemd-inhibit`, which come with systemd, speak D-Bus: the lock is a file
 * descriptor, which Node cannot receive from a socket.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { pathExists, writeFileWhole } from "./files.ts";
import { runProgram } from "./run-program.ts";

const SERVICE = "org.freedesktop.login1";
const OBJECT = "/org/freedesktop/login1";
const INTERFACE = "org.freedesktop.login1.Manager";
const SOCKET = "/var/run/dbus/system_bus_socket";
const CONFIG = "/etc/systemd/logind.conf.d/99-kubelet.conf";

export interface Logind {
  /** Throws if there is no system bus. */
  connect(): Promise<void>;
  /** The longest time for which logind waits for holders of a lock. */
  inhibitDelayMs(): Promise<number>;
  /** Writes the file of logind's settings that raises it; `reload` makes logind read it. */
  writeInhibitDelay(ms: number): Promise<void>;
  reload(): Promise<void>;
  /** Holds the shutdown back until the lock is disposed of, or this process ends. */
  inhibit(): Promise<Disposable>;
  /**
   * Calls with true when the machine is about to shut down, with false when that was cancelled.
   * The first promise resolves when signals are heard, the second when they no longer are.
   */
  watch(
    onShutdown: (isShuttingDown: boolean) => void,
    signal: AbortSignal,
  ): { readonly started: Promise<void>; readonly ended: Promise<void> };
}

export const logind: Logind = {
  async connect() {
    if (process.env.DBUS_SYSTEM_BUS_ADDRESS || (await pathExists(SOCKET))) return;
    throw new Error(`dial unix ${SOCKET}: connect: no such file or directory`);
  },

  async inhibitDelayMs() {
    const words = "failed reading InhibitDelayMaxUSec property from logind";
    const property = [SERVICE, OBJECT, INTERFACE, "InhibitDelayMaxUSec"];
    const { exitCode, stdout, stderr } = await runProgram("busctl", [
      ...["--system", "--json=short", "get-property", ...property],
    ]);
    if (exitCode !== 0) throw new Error(`${words}: ${stderr.trim()}`);
    const { data } = JSON.parse(stdout) as { data?: unknown };
    if (typeof data === "number") return data / 1000;
    throw new Error("InhibitDelayMaxUSec from logind is not a uint64 as expected");
  },

  async writeInhibitDelay(ms) {
    const seconds = Math.round(ms / 1000);
    const text = `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${seconds}\n`;
    await writeFileWhole(CONFIG, text);
  },

  async reload() {
    const { exitCode, stderr } = await runProgram("busctl", [
      ...["--system", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1"],
      ...["org.freedesktop.systemd1.Manager", "KillUnit", "ssi"],
      ...["systemd-logind.service", "all", "1"], // SIGHUP
    ]);
    if (exitCode !== 0) throw new Error(`unable to reload logind conf: ${stderr.trim()}`);
  },

  async inhibit() {
    const held = ["sh", "-c", "echo locked; exec cat"];
    const child = spawn(
      "systemd-inhibit",
      [
        ...["--what=shutdown", "--who=kubelet", "--mode=delay"],
        ...["--why=Kubelet needs time to handle node shutdown", ...held],
      ],
      { stdio: ["pipe", "pipe", "pipe"] }, // its input ends with this process, and the lock with it
    );
    child.stdin.on("error", () => undefined);
    await firstLine(child, "failed creating systemd inhibitor");
    return { [Symbol.dispose]: () => void child.stdin.end() };
  },

  watch(onShutdown, signal) {
    const match = `type='signal',interface='${INTERFACE}',member='PrepareForShutdown',path='${OBJECT}'`;
    const child = spawn("busctl", ["monitor", "--system", "--json=short", `--match=${match}`], {
      stdio: ["ignore", "pipe", "pipe"],
      signal,
      killSignal: "SIGTERM",
    });
    const ended = new Promise<void>((resolve) => {
      child.on("error", () => resolve());
      child.on("exit", () => resolve());
    });
    const started = firstLine(child, "failed to monitor shutdown");
    createInterface(child.stdout).on("line", (line) => {
      const isShuttingDown = shutdownOf(line);
      if (isShuttingDown !== undefined) onShutdown(isShuttingDown);
    });
    return { started, ended };
  },
};

/** From a line of `busctl monitor --json=short`; undefined for everything else. */
export function shutdownOf(line: string): boolean | undefined {
  try {
    const message = JSON.parse(line) as { member?: string; payload?: { data?: unknown[] } };
    const first = message.payload?.data?.[0];
    return message.member === "PrepareForShutdown" && typeof first === "boolean"
      ? first
      : undefined;
  } catch {
    return undefined;
  }
}

/** Resolves when the program has written something; rejects with what it says if it ends before. */
function firstLine(child: ChildProcess, words: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said = (said + chunk).slice(-1000);
      if (said.includes("Monitoring bus message stream")) resolve();
    });
    child.stdout?.once("data", () => resolve());
    child.on("error", (error) => reject(new Error(`${words}: ${error.message}`)));
    child.on("exit", () => reject(new Error(`${words}: ${said.trim()}`)));
  });
}
