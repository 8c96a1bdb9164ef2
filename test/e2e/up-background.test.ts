/** `k8ts up` without --foreground: the built program starts a cluster that goes on after it has ended. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { buildProgram, PROGRAM } from "../built-program.ts";

describe("k8ts up in the background", () => {
  const home = mkdtempSync(join(tmpdir(), "k8ts-home-"));
  const data = join(home, "it's data");
  const kubeconfig = join(home, "kubeconfig");
  const env = { ...process.env, HOME: home, KUBECONFIG: `${kubeconfig}:/nonexistent` };
  const UP = ["up", "--no-node", "--port", "0"];

  beforeAll(() => buildProgram(), 60_000);
  afterAll(() => {
    k8ts("down", "--data", data);
    rmSync(home, { recursive: true, force: true });
  });

  function k8ts(...args: string[]) {
    return spawnSync(process.execPath, [PROGRAM, ...args], { encoding: "utf8", env });
  }

  function pid(): number {
    return (JSON.parse(readFileSync(join(data, "k8ts.pid"), "utf8")) as { pid: number }).pid;
  }

  test("ends when the cluster is ready: a line for each component, the context in the kubeconfig", () => {
    const up = k8ts(...UP, "--data", data);
    assert.equal(up.status, 0, up.stderr);
    assert.equal(up.stderr, "");
    assert.match(
      up.stdout,
      /^ {2}apiserver +\d+ ms\n( {2}\S+ +\d+ ms\n)+ready in \d+ ms: https:\/\/127\.0\.0\.1:\d+\n/,
    );
    for (const name of ["controller-manager", "scheduler"]) {
      assert.match(up.stdout, new RegExp(`^ {2}${name} +\\d+ ms$`, "m"));
    }
    assert.match(up.stdout, /kubectl config use-context k8ts-it-s-data\n/);
    const config = readFileSync(kubeconfig, "utf8");
    assert.match(config, /current-context: k8ts-it-s-data/);
    assert.equal(statSync(kubeconfig).mode & 0o777, 0o600);
    const server = /server: (\S+)/.exec(config)?.[1];
    assert.ok(up.stdout.includes(server!));
  }, 60_000);

  test("it has a session of its own, no terminal, and its log as stdout and stderr", async () => {
    const stat = readFileSync(`/proc/${pid()}/stat`, "utf8");
    const [, , , session, terminal] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    assert.deepEqual([session, terminal], [String(pid()), "0"]);
    const log = (): string => readFileSync(join(data, "logs", "k8ts.log"), "utf8");
    for (let tries = 0; tries < 100 && !log().includes("leading"); tries++) await sleep(50);
    assert.match(log(), /leading/);
  });

  test("a second up on the same data is refused and names the process", () => {
    for (const more of [[], ["--foreground"]]) {
      const up = k8ts(...UP, "--data", data, ...more);
      assert.equal(up.status, 1);
      assert.match(up.stderr, new RegExp(`runs on .* already \\(process ${pid()}\\)`));
    }
  }, 60_000);

  test("down ends it", () => {
    const down = k8ts("down", "--data", data);
    assert.equal(down.status, 0, down.stderr);
    assert.equal(existsSync(join(data, "k8ts.pid")), false);
    assert.match(k8ts("down", "--data", data).stderr, /nothing runs on/);
  });

  test("continues when the reader of its output has gone, and with --no-kubeconfig leaves the file alone", async () => {
    const before = "# mine\n";
    writeFileSync(kubeconfig, before);
    const up = spawn(process.execPath, [PROGRAM, ...UP, "--data", data, "--no-kubeconfig"], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    up.stdout.destroy();
    up.stderr.destroy();
    assert.deepEqual(await once(up, "exit"), [0, null]);
    assert.ok(existsSync(`/proc/${pid()}`));
    assert.equal(readFileSync(kubeconfig, "utf8"), before);
    assert.equal(k8ts("down", "--data", data).status, 0);
  }, 60_000);

  test("a kubeconfig that cannot be understood is not touched, and a line says so", () => {
    writeFileSync(kubeconfig, "clusters: [");
    const up = k8ts(...UP, "--data", data, "--kubeconfig"); // --no-kubeconfig is remembered
    assert.equal(up.status, 0, up.stderr);
    assert.match(up.stderr, /not added to your kubeconfig: .*not valid YAML/);
    assert.match(up.stdout, /export KUBECONFIG='.*it'\\''s data\/kubeconfig'/);
    assert.equal(readFileSync(kubeconfig, "utf8"), "clusters: [");
    assert.equal(k8ts("down", "--data", data).status, 0);
  }, 60_000);

  test("a port in use is refused with the process that has it", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const up = k8ts("up", "--no-node", "--data", data, "--port", String(port));
    other.close();
    assert.equal(up.status, 1);
    assert.match(up.stderr, new RegExp(`port ${port} is in use by process ${process.pid} `));
  }, 60_000);

  test("a refused flag leaves no data directory", () => {
    const folder = join(home, "new");
    const up = k8ts("up", "--data", folder, "--prot=1");
    assert.equal(up.status, 1);
    assert.match(up.stderr, /unknown flag: --prot \(did you mean --port\?\)/);
    assert.equal(existsSync(folder), false);
  });

  test("down --purge removes the data and the context, and leaves other contexts", () => {
    const folder = join(home, "purged");
    writeFileSync(kubeconfig, "contexts: [{name: work, context: {cluster: a, user: b}}]\n");
    const up = k8ts(...UP, "--data", folder);
    assert.equal(up.status, 0, up.stderr);
    assert.match(readFileSync(kubeconfig, "utf8"), /k8ts-purged/);
    const down = k8ts("down", "--purge", "--data", folder);
    assert.equal(down.status, 0, down.stderr);
    assert.equal(existsSync(folder), false);
    const left = readFileSync(kubeconfig, "utf8");
    assert.match(left, /name: work/);
    assert.doesNotMatch(left, /k8ts/);
  }, 60_000);

  test("a damaged store is refused with what to do", () => {
    writeFileSync(join(data, "store", "data.mdb"), Buffer.alloc(65_536, 7));
    const up = k8ts(...UP, "--data", data);
    assert.equal(up.status, 1);
    assert.match(up.stderr, /k8ts doctor --data/);
  }, 60_000);
});
