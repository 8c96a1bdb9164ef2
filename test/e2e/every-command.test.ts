/** Every command of the built program, on every Node that is here: `--help`, and one real call. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, test } from "vitest";
import { buildProgram, runProgram, startProgram } from "../built-program.ts";

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
  { command: "image", flag: "import FILE|DIR|-" },
  { command: "doctor", flag: "--data <dir>" },
  { command: "apiserver", flag: "--secure-port <port>" },
  { command: "controller-manager", flag: "--kubeconfig <file>" },
  { command: "snapshot", flag: "restore [options] <file>" },
  { command: "store", flag: "copy [options]" },
];

beforeAll(() => buildProgram(), 60_000);

test("the overview lists exactly the commands that are tested here", () => {
  const { stdout } = runProgram(["--help"]);
  const listed = /Commands:\n((?: {2}.*\n)+)/.exec(stdout)?.[1] ?? "";
  const names = [...listed.matchAll(/^ {2}(\S+)/gm)].map(([, name]) => name);
  assert.deepEqual(
    names,
    COMMANDS.map(({ command }) => command),
  );
});

describe.each(NODES)("on %s", (node) => {
  const data = mkdtempSync(join(tmpdir(), "k8ts-commands-"));
  afterAll(() => rmSync(data, { recursive: true, force: true }));

  test.each(COMMANDS)("$command --help explains its flags", ({ command, flag }) => {
    const { status, stdout, stderr } = runProgram([command, "--help"], node);
    assert.equal(stderr, "");
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`^Usage: k8ts ${command} `));
    assert.ok(stdout.includes(flag), stdout);
  });

  test("up, controller-manager, down and doctor do their work", async () => {
    const own = ["--data", join(data, "up"), "--port", "0", "--bind-address", "127.0.0.1"];
    await using up = startProgram(["up", "--no-node", ...own], node);
    await up.says(/KUBECONFIG/);
    const kubeconfig = join(data, "up", "controller-manager.kubeconfig");
    const lease = "--leader-elect-resource-name=every-command-test";
    await using manager = startProgram(
      ["controller-manager", "--kubeconfig", kubeconfig, "--secure-port", "0", lease],
      node,
    );
    await manager.says(/leading/);
    assert.equal(await manager.end("SIGTERM"), 0);
    const down = runProgram(["down", "--data", join(data, "up")], node);
    assert.equal(down.status, 0, down.stderr);
    assert.equal(await up.end("SIGKILL"), 0);
    const doctor = runProgram(["doctor", "--data", join(data, "up")], node);
    assert.equal(doctor.status, 0, doctor.stderr);
    assert.match(doctor.stdout, /is sound/);
  }, 60_000);

  test("apiserver does its work", async () => {
    const flags = ["--data-dir", join(data, "apiserver"), "--secure-port", "0"];
    await using server = startProgram(["apiserver", ...flags, "--bind-address", "127.0.0.1"], node);
    await server.says(/is ready/);
    assert.equal(await server.end("SIGTERM"), 0);
  }, 60_000);
});

function distinctPrograms(paths: readonly string[]): string[] {
  return [...new Set(paths.filter((path) => existsSync(path)).map((path) => realpathSync(path)))];
}
