import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished, test } from "vitest";
import { systemClock } from "#lib/time/system-clock.ts";
import type { LogOptions } from "./log-options.ts";
import { readContainerLog } from "./read-container-log.ts";

const ALL: LogOptions = { follow: false, previous: false, timestamps: false, stream: "All" };

function line(text: string): string {
  return `2030-01-01T00:00:00Z stdout F ${text}\n`;
}

function logFile(content: string): string {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-log-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "0.log");
  writeFileSync(path, content);
  return path;
}

async function read(path: string, options: Partial<LogOptions>): Promise<string> {
  const request = { path, options: { ...ALL, ...options }, clock: systemClock };
  const { signal } = new AbortController();
  const parts: Uint8Array[] = [];
  for await (const part of readContainerLog({ ...request, isRunning: async () => false, signal })) {
    parts.push(Uint8Array.from(part)); // the next one is read into the same memory
  }
  return Buffer.concat(parts).toString();
}

describe("container log file", () => {
  test("tailLines gives the last lines", async () => {
    const path = logFile(["a", "b", "c"].map(line).join(""));
    assert.equal(await read(path, { tailLines: 2 }), "b\nc\n");
    assert.equal(await read(path, { tailLines: 9 }), "a\nb\nc\n");
    assert.equal(await read(path, { tailLines: 0 }), "");
  });

  test("tailLines reads backwards over many blocks", async () => {
    const long = "x".repeat(1000);
    const path = logFile(Array.from({ length: 2000 }, (_, i) => line(`${i} ${long}`)).join(""));
    const tail = await read(path, { tailLines: 1500 });
    assert.equal(tail.split("\n").length, 1501);
    assert.ok(tail.startsWith("500 "));
  });

  test("lines across blocks, and one that is longer than a block", async () => {
    const texts = Array.from({ length: 3_000 }, (_, i) => `${i} ${"y".repeat(i % 700)}`);
    texts.splice(1_500, 0, "z".repeat(900_000));
    const path = logFile(texts.map(line).join(""));
    assert.equal(await read(path, {}), `${texts.join("\n")}\n`);
  });

  test("limitBytes cuts the text", async () => {
    assert.equal(
      await read(logFile(line("hello") + line("world")), { limitBytes: 8 }),
      "hello\nwo",
    );
  });

  test("follow gives what is written later, goes on after a rotation, and ends with the container", async () => {
    const path = logFile(line("one"));
    let running = true;
    const log = readContainerLog({
      ...{ path, options: { ...ALL, follow: true }, clock: systemClock },
      ...{ isRunning: async () => running, signal: new AbortController().signal },
    });
    const next = async (): Promise<string> =>
      Buffer.from((await log.next()).value ?? []).toString();
    assert.equal(await next(), "one\n");
    appendFileSync(path, line("two"));
    assert.equal(await next(), "two\n");
    renameSync(path, `${path}.1`);
    writeFileSync(path, line("three"));
    assert.equal(await next(), "three\n");
    running = false;
    appendFileSync(path, line("last"));
    assert.equal(await next(), "last\n");
    assert.equal((await log.next()).done, true);
  });
});
