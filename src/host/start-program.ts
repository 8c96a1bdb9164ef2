/** Starts a program that goes on running, and reads what it writes line by line. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { messageOf } from "#lib/caught.ts";

const LAST_LINES_MAX = 20;

export interface ProgramEnd {
  readonly exitCode: number | undefined;
  /** The end of what it wrote. */
  readonly lastLines: readonly string[];
}

export interface ChildProgram {
  readonly pid: number | undefined;
  readonly exited: boolean;
  /** Never rejects. */
  readonly ended: Promise<ProgramEnd>;
  kill(signal: NodeJS.Signals): void;
}

export interface StartOptions {
  onLine(line: string): void;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export function startProgram(
  program: string,
  args: readonly string[],
  { onLine, env, cwd }: StartOptions,
): ChildProgram {
  const lastLines: string[] = [];
  const keep = (line: string): void => {
    lastLines.push(line);
    if (lastLines.length > LAST_LINES_MAX) lastLines.shift();
    onLine(line);
  };
  const child: ChildProcess = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    ...(env === undefined ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd }),
  });
  if (child.stdout !== null) createInterface(child.stdout).on("line", keep);
  if (child.stderr !== null) createInterface(child.stderr).on("line", keep);
  let exited = false;
  const ended = new Promise<ProgramEnd>((resolve) => {
    const end = (exitCode: number | undefined): void => {
      exited = true;
      resolve({ exitCode, lastLines });
    };
    child.on("error", (error) => {
      keep(`${program}: ${messageOf(error)}`);
      if (child.pid === undefined) end(undefined);
    });
    child.on("exit", (code) => end(code ?? undefined));
  });
  return {
    pid: child.pid,
    get exited() {
      return exited;
    },
    ended,
    kill: (signal) => void child.kill(signal),
  };
}
