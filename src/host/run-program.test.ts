import assert from "node:assert/strict";
import { test } from "vitest";
import { mustRun, ProgramError, runProgram } from "./run-program.ts";
import { startProgram } from "./start-program.ts";

test("runProgram: exit code, stdout and stderr of a program", async () => {
  const result = await runProgram("sh", ["-c", "cat; echo err >&2; exit 3"], { input: "in" });
  assert.deepEqual(result, { exitCode: 3, stdout: "in", stderr: "err\n" });
});

test("runProgram: input in parts; a part that cannot be made kills the program", async () => {
  function* lines(): Iterable<string> {
    for (let i = 0; i < 5_000; i++) yield `${"x".repeat(99)}\n`;
  }
  const { stdout } = await runProgram("wc", ["-c"], { input: lines() });
  assert.equal(stdout.trim(), "500000");
  const ended = await runProgram("true", [], { input: lines() });
  assert.equal(ended.exitCode, 0);
  function* broken(): Iterable<string> {
    yield "one\n";
    throw new Error("no more");
  }
  await assert.rejects(runProgram("cat", [], { input: broken() }), /no more/);
});

test("runProgram: output beyond the limit is dropped and the program still ends", async () => {
  const { exitCode, stdout } = await runProgram("seq", ["200000"], { outputBytesMax: 10 });
  assert.deepEqual([exitCode, stdout.length], [0, 10]);
});

test("runProgram: an aborted signal kills the program", async () => {
  const abort = new AbortController();
  const running = runProgram("sleep", ["1000"], { signal: abort.signal });
  abort.abort(new Error("enough"));
  await assert.rejects(running, /enough/);
});

test("mustRun: a program that fails or is missing gives a ProgramError with its stderr", async () => {
  await assert.rejects(
    mustRun("sh", ["-c", "echo broken >&2; exit 2"]),
    (error) => error instanceof ProgramError && /exit status 2: broken/.test(error.message),
  );
  await assert.rejects(mustRun("no-such-program-here", []), ProgramError);
});

test("startProgram: lines are reported, and the end carries the last ones", async () => {
  const lines: string[] = [];
  const child = startProgram("sh", ["-c", "echo one; echo two; exit 4"], {
    onLine: (line) => lines.push(line),
  });
  const { exitCode } = await child.ended;
  assert.equal(exitCode, 4);
  assert.equal(child.exited, true);
  const missing = startProgram("no-such-program-here", [], { onLine: () => undefined });
  assert.match((await missing.ended).lastLines.join(), /ENOENT/);
});
