/** The process of `k8ts up`: where it listens, who may read its files, and what does not end it. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { parseKubeconfig } from "#pki/kubeconfig.ts";
import { buildProgram, PROGRAM, startProgram } from "../built-program.ts";

describe("k8ts: the process of k8ts up", () => {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-process-"));
  let folders = 0;

  beforeAll(() => buildProgram(), 60_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function flags(): { data: string; args: string[] } {
    const data = join(folder, `it's new ${folders++}`);
    return { data, args: ["up", "--foreground", "--no-node", "--data", data, "--port", "0"] };
  }

  function portIn(data: string): number {
    const { server } = parseKubeconfig(readFileSync(join(data, "kubeconfig"), "utf8"))!;
    return Number(new URL(server).port);
  }

  test("listens on loopback, keeps its files private but for certificates, and prints what can be pasted", async () => {
    const { data, args } = flags();
    await using up = startProgram(args);
    await up.says(/KUBECONFIG=.*\n/);
    const pasted = /export KUBECONFIG=.*\n/.exec(up.output())![0];
    const shell = spawnSync("sh", ["-c", `${pasted}cat "$KUBECONFIG"`], { encoding: "utf8" });
    assert.equal(shell.stdout, readFileSync(join(data, "kubeconfig"), "utf8"));

    const port = portIn(data);
    assert.deepEqual(listeners(up.child.pid!, port), ["0100007F"]); // 127.0.0.1
    assert.equal(await answers("127.0.0.1", port), true);

    const mode = (path: string) => (statSync(join(data, path)).mode & 0o777).toString(8);
    assert.equal(mode("."), "700");
    for (const file of ["ca.crt", "apiserver.crt", "front-proxy-ca.crt", "sa.pub"]) {
      assert.equal(mode(`pki/${file}`), "644", file);
    }
    for (const file of ["pki/ca.key", "pki/sa.key", "admin.kubeconfig", "kubeconfig", "k8ts.pid"]) {
      assert.equal(mode(file), "600", file);
    }
  }, 60_000);

  test("listens where --bind-address says", async () => {
    const { data, args } = flags();
    await using up = startProgram([...args, "--bind-address", "0.0.0.0"]);
    await up.says(/KUBECONFIG/);
    assert.deepEqual(listeners(up.child.pid!, portIn(data)), ["00000000"]);
    assert.equal(await answers("127.0.0.1", portIn(data)), true);
  }, 60_000);

  test("survives SIGHUP under nohup", async () => {
    const { data, args } = flags();
    const child = spawn("nohup", [process.execPath, PROGRAM, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    try {
      await once(child.stdout, "data");
      child.kill("SIGHUP");
      await sleep(500);
      assert.equal(await answers("127.0.0.1", portIn(data)), true);
      assert.equal(child.exitCode ?? child.signalCode, null);
    } finally {
      child.kill("SIGKILL");
    }
  }, 60_000);

  test("survives that the pipe it writes to is closed", async () => {
    const { data, args } = flags();
    const child = spawn(process.execPath, [PROGRAM, ...args, "-v", "6"], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stderr.destroy();
    try {
      await once(child.stdout, "data");
      child.stdout.destroy();
      for (let i = 0; i < 20; i++) assert.equal(await answers("127.0.0.1", portIn(data)), true);
      await sleep(3_000); // the lease is renewed, and more is written
      assert.equal(child.exitCode ?? child.signalCode, null);
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      assert.deepEqual(await ended, [0, null]);
    } finally {
      child.kill("SIGKILL");
    }
  }, 60_000);
});

/** The addresses that a process listens on, as /proc prints them. */
function listeners(pid: number, port: number): string[] {
  const hexPort = port.toString(16).toUpperCase().padStart(4, "0");
  return ["tcp", "tcp6"].flatMap((family) =>
    readFileSync(`/proc/${pid}/net/${family}`, "utf8")
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => state === "0A" && local?.endsWith(`:${hexPort}`))
      .map(([, local = ""]) => local.split(":")[0]!),
  );
}

async function answers(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
