/** Flags of `k8ts up` in files, and clusters for one run, with the built program. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { buildProgram, runProgram, startProgram } from "../built-program.ts";

describe("k8ts up: configuration", () => {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-config-"));
  const data = join(folder, "data");
  const config = join(folder, "cluster.yaml");

  beforeAll(() => buildProgram(), 60_000);
  afterAll(() => {
    runProgram(["down", "--data", data]);
    rmSync(folder, { recursive: true, force: true });
  });

  test("--config FILE has the flags, which config.yaml in the data directory remembers", () => {
    const flags = "node: false\nkubeconfig: false\nport: 0\ntls-san: [a.example, b.example]\n";
    writeFileSync(config, `data: ${data}\n${flags}`);
    const up = runProgram(["up", "--config", config, "--event-ttl", "2h"]);
    assert.equal(up.status, 0, up.stderr);
    assert.match(up.stdout, /ready in/);
    const remembered = readFileSync(join(data, "config.yaml"), "utf8");
    assert.match(remembered, /^node: false$/m);
    assert.match(remembered, /^event-ttl: 2h$/m);
    assert.match(remembered, /^ +- b\.example$/m);
    assert.doesNotMatch(remembered, /^(data|config):/m);
    assert.equal(statSync(join(data, "config.yaml")).mode & 0o777, 0o600);
    assert.equal(runProgram(["down", "--data", data]).status, 0);
  }, 60_000);

  test("the next start has the same flags, and the command line changes some", () => {
    const up = runProgram(["up", "--data", data, "--event-ttl=3h"]);
    assert.equal(up.status, 0, up.stderr);
    assert.doesNotMatch(up.stdout, /^ {2}node /m);
    const remembered = readFileSync(join(data, "config.yaml"), "utf8");
    assert.match(remembered, /^node: false$/m);
    assert.match(remembered, /^event-ttl: 3h$/m);
    assert.equal(runProgram(["down", "--data", data]).status, 0);
  }, 60_000);

  test("a mistake in the file is refused with its name", () => {
    writeFileSync(config, "prot: 1\n");
    const up = runProgram(["up", "--config", config]);
    assert.equal(up.status, 1);
    assert.match(up.stderr, /cluster\.yaml: unknown flag: prot \(did you mean port\?\)/);
  });

  test("--ephemeral prints the path of a kubeconfig, and its data is gone at the end", async () => {
    await using up = startProgram(["up", "--ephemeral", "--no-node"]);
    const line = /^\/.*\/kubeconfig$/m; // among the lines of the log
    await up.says(line);
    const [kubeconfig = ""] = line.exec(up.output()) ?? [];
    assert.match(readFileSync(kubeconfig, "utf8"), /server: https:\/\/127\.0\.0\.1:\d+/);
    assert.equal(await up.end("SIGTERM"), 0, up.output());
    assert.equal(existsSync(dirname(kubeconfig)), false);
  }, 60_000);
});
