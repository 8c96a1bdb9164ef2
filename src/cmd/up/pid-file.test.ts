import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "vitest";
import { removePidFile, runningProcess, writePidFile } from "./pid-file.ts";

let root: string;
let data: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "k8ts-pid-"));
  data = mkdtempSync(join(root, "data-"));
  writePidFile(data);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function change(fields: object): void {
  const file = join(data, "k8ts.pid");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...fields }));
}

test("k8ts up: PID file: k8ts.pid names this process", () => {
  assert.equal(runningProcess(data)?.pid, process.pid);
});

test("k8ts up: PID file: k8ts.pid still names the process after the directory was moved", () => {
  renameSync(data, join(root, "moved"));
  assert.equal(runningProcess(join(root, "moved"))?.pid, process.pid);
});

test("k8ts up: PID file: k8ts.pid in a copy of the directory names no process", () => {
  cpSync(data, join(root, "copy"), { recursive: true });
  assert.equal(runningProcess(join(root, "copy")), undefined);
});

test("k8ts up: PID file: k8ts.pid with the number that another process has now names no process", async () => {
  const stranger = spawn("sleep", ["60"]);
  await once(stranger, "spawn");
  try {
    change({ pid: stranger.pid });
    assert.equal(runningProcess(data), undefined);
  } finally {
    stranger.kill();
  }
});

test.each([
  { name: "of an earlier boot", fields: { bootId: "earlier" } },
  { name: "of a process that has ended", fields: { pid: 2 ** 22 + 1 } },
  { name: "with a group of processes instead of one", fields: { pid: -1 } },
])("k8ts up: PID file: k8ts.pid $name names no process", ({ fields }) => {
  change(fields);
  assert.equal(runningProcess(data), undefined);
});

test("k8ts up: PID file: a k8ts.pid with a bare number, or cut short, names no process", () => {
  for (const text of [`${process.pid}\n`, '{"pid":', ""]) {
    writeFileSync(join(data, "k8ts.pid"), text);
    assert.equal(runningProcess(data), undefined);
  }
});

test("k8ts up: PID file: k8ts.pid is removed by its own process only", () => {
  change({ pid: 1_000_000 });
  removePidFile(data);
  assert.ok(existsSync(join(data, "k8ts.pid")));
  change({ pid: process.pid });
  removePidFile(data);
  assert.ok(!existsSync(join(data, "k8ts.pid")));
});
