/** The program as users run it, for the tests that start it as a process. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** As users start it. */
export const LAUNCHER = fileURLToPath(new URL("../k8ts", import.meta.url));

export const PROGRAM = fileURLToPath(new URL("../dist/k8ts.js", import.meta.url));

/** Builds it if it is older than its sources; `./k8ts test` has done so before the tests. */
export function buildProgram(): void {
  const built = spawnSync(LAUNCHER, ["--version"], { encoding: "utf8" });
  assert.equal(built.status, 0, built.stderr);
}

export interface RunningProgram extends AsyncDisposable {
  readonly child: ChildProcess;
  /** What it has written to stdout and stderr so far. */
  output(): string;
  /** Fails if the program ends before it has written that. */
  says(expected: RegExp): Promise<void>;
  /** Answers the exit code, or the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | string | null>;
}

/** Runs the program until it ends or is disposed of. */
export function startProgram(args: readonly string[], node = process.execPath): RunningProgram {
  return startCommand(node, [PROGRAM, ...args]);
}

/** The same for another program, such as one of upstream's. */
export function startCommand(command: string, args: readonly string[]): RunningProgram {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk;
      child.emit("said");
    });
  }
  const ended = new Promise<number | string | null>((resolve) =>
    child.once("close", (code, signal) => resolve(code ?? signal)),
  );
  const says = (expected: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!expected.test(output)) return;
        child.off("said", look);
        resolve();
      };
      child.on("said", look);
      void ended.then((code) => reject(new Error(`ended with ${code}: ${output}`)));
      look();
    });
  const end = (signal: NodeJS.Signals): Promise<number | string | null> => {
    child.kill(signal);
    return ended;
  };
  return {
    child,
    output: () => output,
    says,
    end,
    [Symbol.asyncDispose]: async () => void (await end("SIGKILL")),
  };
}

/** Runs the program to its end. */
export function runProgram(args: readonly string[], node = process.execPath) {
  return spawnSync(node, [PROGRAM, ...args], { encoding: "utf8" });
}
