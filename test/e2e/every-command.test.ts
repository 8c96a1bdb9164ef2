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

/** Not the components, whose flags are upstream's. */
const TYPED_COMMANDS = [
  ...["up", "down", "status", "logs", "kubeconfig", "dashboard", "node", "image", "token", "join"],
  ...["leave", "snapshot", "store", "etcd", "why", "doctor", "simulate", "completion"],
];

beforeAll(() => buildProgram(), 60_000);

describe.each(NODES)("on %s", (node) => {
  const data = mkdtempSync(join(tmpdir(), "k8ts-commands-"));
  afterAll(() => rmSync(data, { recursive: true, force: true }));

  test("--help of every command in the overview explains it", () => {
    const overview = runProgram(["--help"], node).stdout;
    const listed = /Commands:\n((?: {2}.*\n)+)/.exec(overview)?.[1] ?? "";
    const names = [...listed.matchAll(/^ {2}(\S+)/gm)].map(([, name]) => name!);
    assert.ok(
      ["up", "down", "apiserver", "controller-manager", "proxy"].every((n) => names.includes(n)),
    );
    for (const name of names) {
      const { status, stdout, stderr } = runProgram([name, "--help"], node);
      assert.equal(stderr, "", name);
      assert.equal(status, 0, name);
      assert.match(stdout, new RegExp(`^Usage: k8ts ${name} `));
    }
  }, 60_000);

  test("--help of the commands that people type has Examples of their own", () => {
    for (const name of TYPED_COMMANDS) {
      const { stdout } = runProgram([name, "--help"], node);
      assert.match(
        stdout,
        new RegExp(`\\nExamples:\\n(?: {2}.*\\n)*? {2}(?:.*\\| )?k8ts ${name}`),
        name,
      );
    }
  }, 60_000);

  test("up, controller-manager, dns, down and doctor do their work", async () => {
    const own = ["--data", join(data, "up"), "--port", "0", "--bind-address", "127.0.0.1"];
    await using up = startProgram(["up", "--foreground", "--no-node", ...own], node);
    await up.says(/KUBECONFIG/);
    const kubeconfig = join(data, "up", "controller-manager.kubeconfig");
    const lease = "--leader-elect-resource-name=every-command-test";
    await using manager = startProgram(
      ["controller-manager", "--kubeconfig", kubeconfig, "--secure-port", "0", lease],
      node,
    );
    await manager.says(/leading/);
    assert.equal(await manager.end("SIGTERM"), 0);
    const place = ["--listen", "127.0.0.1", "--port", "0", "--metrics-port", "0"];
    await using dns = startProgram(["dns", "--kubeconfig", kubeconfig, ...place], node);
    await dns.says(/DNS is ready/);
    assert.equal(await dns.end("SIGTERM"), 0);
    const down = runProgram(["down", "--data", join(data, "up")], node);
    assert.equal(down.status, 0, down.stderr);
    assert.equal(await up.end("SIGKILL"), 0);
    const doctor = runProgram(["doctor", "--data", join(data, "up")], node);
    assert.equal(doctor.status, 0, doctor.stderr);
    assert.match(doctor.stdout, /is sound/);
  }, 60_000);

  test("k8ts apiserver becomes ready and ends with SIGTERM", async () => {
    const flags = ["--data-dir", join(data, "apiserver"), "--secure-port", "0"];
    await using server = startProgram(["apiserver", ...flags, "--bind-address", "127.0.0.1"], node);
    await server.says(/is ready/);
    assert.equal(await server.end("SIGTERM"), 0);
  }, 60_000);
});

function distinctPrograms(paths: readonly string[]): string[] {
  return [...new Set(paths.filter((path) => existsSync(path)).map((path) => realpathSync(path)))];
}
