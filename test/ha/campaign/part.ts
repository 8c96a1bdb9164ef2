/**
 * A program of the control plane on a machine of its own: it can be killed, frozen, made slow, and started
 * again. Its output goes to a file.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../e2e/node/eventually.ts";
import type { TestMachine } from "../machines.ts";

export interface PartOptions {
  readonly machine: TestMachine;
  /** A folder that this process sees, too. */
  readonly folder: string;
  readonly command: readonly [program: string, ...args: string[]];
  readonly env?: Readonly<Record<string, string>>;
}

const LONG = { timeoutMs: 60_000, everyMs: 20 };

/** The shell waits for the program: were it the program, nsenter would stop itself together with it. */
const RUN = `
"$@" >>"$LOG_FILE" 2>&1 &
echo $! >"$PID_FILE.new"; mv "$PID_FILE.new" "$PID_FILE"
wait $!
`;

export class Part {
  readonly machine: TestMachine;
  readonly #options: PartOptions;
  readonly #pidFile: string;
  readonly #logFile: string;
  #shell: ChildProcess | undefined;

  constructor(options: PartOptions) {
    this.#options = options;
    this.machine = options.machine;
    this.#pidFile = join(options.folder, `${this.name}.pid`);
    this.#logFile = join(options.folder, `${this.name}.log`);
  }

  get name(): string {
    return this.machine.name;
  }

  get isRunning(): boolean {
    return this.#shell !== undefined && this.#shell.exitCode === null;
  }

  async start(): Promise<void> {
    const { command, env = {} } = this.#options;
    const files = [`PID_FILE=${this.#pidFile}`, `LOG_FILE=${this.#logFile}`];
    const all = [...files, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
    rmSync(this.#pidFile, { force: true });
    this.#shell = this.machine.start("env", ...all, "sh", "-c", RUN, "sh", ...command);
    this.#shell.stdout?.resume();
    this.#shell.stderr?.resume();
    await until(() => existsSync(this.#pidFile), LONG);
  }

  /** kill -9. */
  async kill(): Promise<void> {
    await this.end("KILL");
  }

  /** Resolves when the process is gone. */
  async end(signal: "KILL" | "TERM"): Promise<void> {
    const shell = this.#shell;
    if (shell === undefined || shell.exitCode !== null) return;
    const exit = once(shell, "exit");
    await this.signal(signal);
    await exit;
  }

  async signal(signal: "KILL" | "TERM" | "STOP" | "CONT"): Promise<void> {
    await this.machine.tryRun("kill", `-${signal}`, this.pid());
  }

  /** The process's number on its machine. */
  pid(): string {
    return readFileSync(this.#pidFile, "utf8").trim();
  }

  log(): string {
    return existsSync(this.#logFile) ? readFileSync(this.#logFile, "utf8") : "";
  }
}
