/** Commands about a cluster in the background, with the built program: status, logs, kubeconfig, completion. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { buildProgram, PROGRAM, runProgram, startProgram } from "../built-program.ts";

describe("k8ts status, logs and completion (k8ts up in the background)", () => {
  const data = mkdtempSync(join(tmpdir(), "k8ts-about-"));

  beforeAll(() => {
    buildProgram();
    const up = runProgram(["up", "--no-node", "--no-kubeconfig", "--port=0", "--data", data]);
    assert.equal(up.status, 0, up.stderr);
  }, 60_000);
  afterAll(() => {
    runProgram(["down", "--purge", "--data", data]);
    rmSync(data, { recursive: true, force: true });
  });

  test("status --output json of a running cluster", () => {
    const { status, stdout, stderr } = runProgram(["status", "--data", data, "-o", "json"]);
    assert.equal(status, 0, stderr + stdout);
    const { state, server, components, nodes, pods } = JSON.parse(stdout);
    assert.equal(state, "running");
    assert.match(server, /^https:\/\/127\.0\.0\.1:\d+$/);
    assert.deepEqual([nodes, pods], [{ total: 0, ready: 0 }, 0]);
    for (const name of ["controller-manager", "scheduler"]) {
      const found = components.find((component: { name: string }) => component.name === name);
      assert.equal(found?.healthy, true, stdout);
    }
  });

  test("status in words, and exit code 3 where nothing runs", () => {
    const { stdout } = runProgram(["status", "--data", data]);
    assert.match(stdout, /^cluster +running, process \d+\ndata +\/.*\nserver +https/);
    assert.match(stdout, /^scheduler +healthy$/m);
    const none = runProgram(["status", "--data", join(data, "none")]);
    assert.equal(none.status, 3);
    assert.match(none.stdout, /^cluster +not running$/m);
  });

  test("logs of one component, the last lines, and following", async () => {
    const has = (): string => runProgram(["logs", "scheduler", "--data", data]).stdout;
    for (let tries = 0; tries < 50 && !has().includes("leading"); tries++) await sleep(100);
    assert.match(has(), /leading.*component=scheduler/);
    assert.doesNotMatch(has(), /controller-manager /);
    const last = runProgram(["logs", "--tail=1", "--data", data]).stdout;
    assert.equal(last.split("\n").length, 2);
    await using follow = startProgram(["logs", "-f", "--tail", "0", "--data", data]);
    const append = setInterval(
      () => appendFileSync(join(data, "logs", "k8ts.log"), "a new line\n"),
      200,
    );
    await follow.says(/^a new line\n/m).finally(() => clearInterval(append));
    assert.equal(await follow.end("SIGINT"), 0);
  }, 60_000);

  test("kubeconfig prints the file, and refuses where there is none", () => {
    const { stdout } = runProgram(["kubeconfig", "--data", data]);
    assert.equal(stdout, readFileSync(join(data, "kubeconfig"), "utf8"));
    const none = runProgram(["kubeconfig", "--data", join(data, "none")]);
    assert.equal(none.status, 1);
    assert.match(none.stderr, /no cluster was started/);
  });

  test("version --output json", () => {
    const { kubernetesVersion, nodeVersion } = JSON.parse(
      runProgram(["version", "--output=json"]).stdout,
    );
    assert.deepEqual([kubernetesVersion, nodeVersion], ["v1.36.4+k8ts1", process.version]);
    assert.equal(runProgram(["version", "-o", "xml"]).status, 1);
  });

  test("logs: a mistyped component gets a suggestion", () => {
    const { status, stdout, stderr } = runProgram(["logs", "schedulr", "--data", data]);
    assert.deepEqual([status, stdout], [1, ""]);
    assert.match(stderr, /there is no component "schedulr": did you mean scheduler\?/);
    assert.equal(runProgram(["logs", "node", "--data", data]).status, 0);
  });

  test("a mistyped subcommand gets a suggestion", () => {
    const { status, stderr } = runProgram(["token", "lsit"]);
    assert.equal(status, 2);
    assert.equal(stderr, 'k8ts token: unknown command "lsit", did you mean "list"?\n');
  });

  test("a mistyped command gets a suggestion", () => {
    const { status, stderr } = runProgram(["stauts"]);
    assert.equal(status, 1);
    assert.equal(stderr, 'k8ts: unknown command "stauts", did you mean "status"?\n');
  });

  test("completion bash completes commands and flags", () => {
    const { stdout } = runProgram(["completion", "bash"]);
    const complete = (...words: string[]): string[] => {
      const given = words.map((word) => `'${word}'`).join(" ");
      const script = `${stdout}\nCOMP_WORDS=(k8ts ${given}); COMP_CWORD=${words.length}; _k8ts; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return spawnSync("bash", ["-c", script], { encoding: "utf8" })
        .stdout.trim()
        .split("\n")
        .toSorted();
    };
    assert.deepEqual(complete("st"), ["status", "store"]);
    assert.deepEqual(complete("down", "--p"), ["--purge"]);
    assert.ok(complete("up", "--no-").includes("--no-node"));
    assert.ok(complete("up", "--service-cluster").includes("--service-cluster-ip-range"));
    for (const shell of ["zsh", "fish"]) {
      assert.match(runProgram(["completion", shell]).stdout, /end the cluster that `up` runs/);
    }
    assert.equal(runProgram(["completion", "tcsh"]).status, 1);
  });

  test("output into a closed pipe does not fail", async () => {
    const child = spawn(process.execPath, [PROGRAM, "kubeconfig", "--data", data], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    child.stdout.destroy();
    assert.deepEqual(await once(child, "exit"), [0, null]);
  });
});
