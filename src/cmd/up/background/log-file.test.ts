import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { boundedLogWriter, FILE_BYTES_MAX, logFilesOf, openLog } from "./log-file.ts";

test("k8ts up, log file: the log of a cluster in the background rotates and stays bounded", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k8ts-log-"));
  try {
    const { descriptor, startBytes, file } = openLog(dataDir);
    assert.equal(startBytes, 0);
    const write = boundedLogWriter(dataDir, (line) => void writeSync(descriptor, line));
    const line = `${"x".repeat(256 * 1024 - 1)}\n`;
    for (let written = 0; written < 10 * FILE_BYTES_MAX; written += line.length) write(line);
    const files = logFilesOf(dataDir);
    assert.deepEqual(
      files.map((path) => path.slice(file.length)),
      [".4", ".3", ".2", ".1", ""],
    );
    for (const path of files) assert.ok(statSync(path).size <= FILE_BYTES_MAX + line.length, path);
    write("the last\n");
    assert.ok(statSync(file).size < FILE_BYTES_MAX);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});
