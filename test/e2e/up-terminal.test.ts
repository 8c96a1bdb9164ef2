/** `k8ts up` as a person sees it: the built program in a real terminal (tmux), 80 columns wide. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram, PROGRAM } from "../built-program.ts";

const WAIT_MS = 60_000;

describe("k8ts up in a terminal", () => {
  const home = mkdtempSync(join(tmpdir(), "k8ts-terminal-"));
  const data = join(home, "data");
  const socket = join(home, "tmux");

  beforeAll(() => {
    const why = missingProgram("tmux");
    if (why !== undefined) throw new Error(why);
    buildProgram();
    const env = { ...process.env, HOME: home, PS1: "$ ", TERM: "xterm-256color" };
    const size = ["-x", "80", "-y", "40"];
    const args = ["-S", socket, "new-session", "-d", ...size, "sh"];
    assert.equal(spawnSync("tmux", args, { env }).status, 0);
  }, 60_000);

  afterAll(() => {
    const env = { ...process.env, HOME: home };
    spawnSync(process.execPath, [PROGRAM, "down", "--data", data], { env });
    tmux("kill-server");
    rmSync(home, { recursive: true, force: true });
  });

  function tmux(...args: string[]): string {
    return spawnSync("tmux", ["-S", socket, ...args], { encoding: "utf8" }).stdout;
  }

  let commands = 0;

  /** Types a command of k8ts and returns the screen once it has ended, and its exit code. */
  async function type(args: string): Promise<{ readonly screen: string; readonly code: string }> {
    commands += 1;
    const program = `${process.execPath} ${PROGRAM} ${args} --data ${data}`;
    tmux("send-keys", "-l", `clear; ${program}; echo "ended ${commands}: $?"`);
    tmux("send-keys", "Enter");
    const [screen, code = ""] = await seen(new RegExp(`^ended ${commands}: (\\d+)$`, "m"));
    return { screen, code };
  }

  /** Waits until the screen matches; returns it and the groups of the match. */
  async function seen(pattern: RegExp): Promise<readonly [screen: string, ...groups: string[]]> {
    const endMs = performance.now() + WAIT_MS;
    for (;;) {
      const screen = tmux("capture-pane", "-p");
      const match = pattern.exec(screen);
      if (match !== null) return [screen, ...match.slice(1)];
      assert.ok(performance.now() < endMs, `${pattern} is not seen\n${screen}`);
      await sleep(100);
    }
  }

  test("up: a line with its time for each component, the next commands, and the shell again", async () => {
    const { screen, code } = await type("up --no-node --port 0");
    assert.equal(code, "0", screen);
    assert.match(screen, /^ {2}apiserver +\d+ ms$/m);
    assert.match(screen, /^ready in [\d.]+ m?s: https:\/\/127\.0\.0\.1:\d+$/m);
    assert.match(screen, /^ {2}kubectl get namespaces$/m);
    assert.doesNotMatch(screen, /undefined|\[object/);
  }, 120_000);

  test("Ctrl-C in the terminal does not reach the cluster; status shows its components", async () => {
    tmux("send-keys", "C-c");
    // The terminal drops what was typed before the signal: the next command has to wait for it.
    await seen(/\^C/);
    const { screen, code } = await type("status");
    assert.equal(code, "0", screen);
    assert.match(screen, /^scheduler +healthy$/m);
  }, 120_000);

  test("down ends it, and a second one says that there is nothing", async () => {
    const down = await type("down");
    assert.equal(down.code, "0", down.screen);
    const { screen, code } = await type("status");
    assert.notEqual(code, "0", screen);
  }, 120_000);
});
