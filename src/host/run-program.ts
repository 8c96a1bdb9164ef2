/**
 * Runs a program of the machine and waits for its end. Output is kept up to a limit; the rest is
 * read and dropped, so that the program never blocks on a full pipe.
 */
import { spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { messageOf } from "#lib/caught.ts";

const OUTPUT_BYTES_MAX = 1024 * 1024;

export interface ProgramResult {
  /** Undefined when a signal ended it. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** Parts are asked for as the program reads them. */
  readonly input?: string | Uint8Array | Iterable<string>;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly outputBytesMax?: number;
}

export class ProgramError extends Error {
  override readonly name = "ProgramError";
  readonly result: ProgramResult | undefined;
  constructor(message: string, result?: ProgramResult) {
    super(message);
    this.result = result;
  }
}

/** Answers whatever the exit code is; throws ProgramError when the program cannot be started. */
export function runProgram(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<ProgramResult> {
  const { signal, input, cwd, env, outputBytesMax = OUTPUT_BYTES_MAX } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
      ...(signal === undefined ? {} : { signal, killSignal: "SIGKILL" }),
    });
    const stdout = collect(outputBytesMax);
    const stderr = collect(outputBytesMax);
    child.stdout?.on("data", stdout.add);
    child.stderr?.on("data", stderr.add);
    child.stdin?.on("error", () => undefined); // it may end before it has read everything
    if (child.stdin !== null && input !== undefined) {
      feed(child.stdin, input).catch((error: unknown) => {
        child.kill("SIGKILL"); // before it takes what it has read for the whole
        reject(error);
      });
    }
    child.on("error", (error) => {
      if (signal?.aborted) reject(signal.reason);
      else reject(new ProgramError(`${program}: ${messageOf(error)}`));
    });
    child.on("close", (code) => {
      resolve({ exitCode: code ?? undefined, stdout: stdout.text(), stderr: stderr.text() });
    });
  });
}

/** As `runProgram`, but any exit code other than 0 is a ProgramError with its output. */
export async function mustRun(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const result = await runProgram(program, args, options);
  if (result.exitCode === 0) return result.stdout;
  const why = (result.stderr.trim() || result.stdout.trim()).slice(0, 2_000);
  const how = result.exitCode === undefined ? "was killed" : `exit status ${result.exitCode}`;
  throw new ProgramError(`${program} ${args.join(" ")}: ${how}: ${why}`, result);
}

async function feed(stdin: Writable, input: NonNullable<RunOptions["input"]>): Promise<void> {
  if (typeof input === "string" || input instanceof Uint8Array) {
    stdin.end(input);
    return;
  }
  for (const part of input) {
    if (stdin.destroyed) return;
    if (!stdin.write(part)) await untilWritable(stdin);
  }
  stdin.end();
}

/** Also resolves when the program has closed its input. */
function untilWritable(stdin: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stdin.off("drain", done).off("close", done);
      resolve();
    };
    stdin.on("drain", done).on("close", done);
  });
}

function collect(bytesMax: number): { add(chunk: Buffer): void; text(): string } {
  const chunks: Buffer[] = [];
  let length = 0;
  return {
    add: (chunk) => {
      if (length >= bytesMax) return;
      chunks.push(chunk.subarray(0, bytesMax - length));
      length += Math.min(chunk.length, bytesMax - length);
    },
    text: () => Buffer.concat(chunks).toString("utf8"),
  };
}
