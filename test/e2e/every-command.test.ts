/** Every command of the built program, on every Node that is here: `--help`, and one real call. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, test } from "vitest";
import { buildProgram, PROGRAM } from "../built-program.ts";

/** The one that runs the tests, those on the PATH, and the newer one that comes as a package. */
const NODES = distinctPrograms([
  process.execPath,
  ...(process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "node")),
  fileURLToPath(new URL("../../node_modules/.bin/node", import.meta.url)),
]);

/** The flag that each command's help must explain. */
const COMMANDS = [
  { command: "up", flag: "--data <dir>" },
  { command: "down", flag: "--data <dir>" },
  { command: "apiserver", flag: "--secure-port <port>" },
  { command: "controller-manager", flag: "--kubeconfig <file>" },
];

beforeAll(() => buildProgram(), 60_000);

test("the overview lists exactly the commands that are tested here", () => {
  const { stdout } = run(process.execPath, ["--help"]);
  const listed = /Commands:\n((?: {2}.*\n)+)/.exec(stdout)?.[1] ?? "";
  const names = [...listed.matchAll(/^ {2}(\S+)/gm)].map(([, name]) => name);
  assert.deepEqual(
    names,
    COMMANDS.map(({ command }) => command),
  );
});

describe.each(NODES)("on %s", (node) => {
  const data = mkdtempSync(join(tmpdir(), "k8ts-commands-"));
  const running: ChildProcess[] = [];

  afterAll(async () => {
    for (const child of running) await end(child, "SIGKILL");
    rmSync(data, { recursive: true, force: true });
  });

  test.each(COMMANDS)("$command --help explains its flags", ({ command, flag }) => {
    const { status, stdout, stderr } = run(node, [command, "--help"]);
    assert.equal(stderr, "");
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`^Usage: k8ts ${command} `));
    assert.ok(stdout.includes(flag), stdout);
  });

  test("up, controller-manager and down do their work", async () => {
    const own = ["--data", join(data, "up"), "--port", "0", "--bind-address", "127.0.0.1"];
    const up = start(["up", "--no-node", ...own]);
    await up.says(/KUBECONFIG/);
    const kubeconfig = join(data, "up", "controller-manager.kubeconfig");
    const manager = start(
      ["controller-manager", "--kubeconfig", kubeconfig, "--secure-port", "0"].concat(
        "--leader-elect-resource-name=every-command-test",
      ),
    );
    await manager.says(/leading/);
    assert.equal(await end(manager.child, "SIGTERM"), 0);
    const ended = once(up.child, "exit");
    const down = run(node, ["down", "--data", join(data, "up")]);
    assert.equal(down.status, 0, down.stderr);
    assert.deepEqual(await ended, [0, null]);
  }, 60_000);

  test("apiserver does its work", async () => {
    const flags = ["--data-dir", join(data, "apiserver"), "--secure-port", "0"];
    const server = start(["apiserver", ...flags, "--bind-address", "127.0.0.1"]);
    await server.says(/is ready/);
    assert.equal(await end(server.child, "SIGTERM"), 0);
  }, 60_000);

  function start(args: readonly string[]) {
    const child = spawn(node, [PROGRAM, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    running.push(child);
    let output = "";
    const says = (expected: RegExp): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (chunk: unknown): void => {
          output += chunk;
          if (expected.test(output)) resolve();
        };
        child.stdout.on("data", look);
        child.stderr.on("data", look);
        child.once("exit", (code) => reject(new Error(`ended with ${code}: ${output}`)));
      });
    return { child, says };
  }
});

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = once(child, "exit");
  child.kill(signal);
  return (await ended)[0];
}

function distinctPrograms(paths: readonly string[]): string[] {
  return [...new Set(paths.filter((path) => existsSync(path)).map((path) => realpathSync(path)))];
}

function run(node: string, args: readonly string[]) {
  return spawnSync(node, [PROGRAM, ...args], { encoding: "utf8" });
}
