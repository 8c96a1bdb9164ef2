import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { systemClock } from "#lib/time/system-clock.ts";
import { pauseProgram } from "./pause-program.ts";

/** Runs the program of this machine's processor as process 1 of a PID namespace. */
async function withPause(use: (pid: number) => Promise<void>): Promise<number | null> {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-pause-"));
  const file = join(folder, "pause");
  writeFileSync(file, pauseProgram(process.arch === "arm64" ? "arm64" : "x64"), { mode: 0o755 });
  const child = spawn("unshare", ["--pid", "--fork", "--kill-child", file], { stdio: "ignore" });
  const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
  try {
    const pid = await childOf(child.pid ?? assert.fail("unshare did not start"));
    await use(pid);
    process.kill(pid, "SIGTERM");
    return await ended;
  } finally {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  }
}

async function childOf(parent: number): Promise<number> {
  for (let attempt = 0; attempt < 500; attempt++) {
    const children = readFileSync(`/proc/${parent}/task/${parent}/children`, "utf8").trim();
    // The child is unshare itself until it has become the program.
    if (children !== "" && readFileSync(`/proc/${children}/comm`, "utf8") === "pause\n") {
      return Number(children);
    }
    await systemClock.sleep(10);
  }
  return assert.fail("the program did not start");
}

test("pause program: ends with status 0 on SIGTERM, as process 1", async () => {
  assert.equal(await withPause(async () => undefined), 0);
});

test("pause program: reaps orphans that end in its PID namespace", async () => {
  await withPause(async (pid) => {
    // The shell ends at once; its child is inherited by process 1 and ends later.
    const args = ["--target", String(pid), "--pid", "--", "sh", "-c", "sleep 2 & exit 0"];
    assert.equal(spawnSync("nsenter", args, { stdio: "ignore" }).status, 0);
    const children = (): string => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    for (let attempt = 0; attempt < 500 && children() === ""; attempt++) await systemClock.sleep(1);
    assert.notEqual(children(), "", "the orphan was not inherited");
    for (let attempt = 0; attempt < 1000 && children() !== ""; attempt++)
      await systemClock.sleep(10);
    assert.equal(children(), "", "a zombie is left");
  });
});

test("pause program: is a static executable for each processor", () => {
  for (const [arch, machine] of [
    ["x64", 62],
    ["arm64", 183],
  ] as const) {
    const view = new DataView(pauseProgram(arch).buffer);
    assert.equal(view.getUint32(0), 0x7f454c46, arch);
    assert.equal(view.getUint16(18, true), machine, arch);
    assert.equal(
      view.getBigUint64(64 + 32, true),
      BigInt(view.byteLength),
      "the file is mapped whole",
    );
  }
});
