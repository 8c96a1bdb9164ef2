/** Flags of the built program as they are typed. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { buildProgram, runProgram, startProgram } from "../built-program.ts";

describe("flags of k8ts apiserver and k8ts up", () => {
  const data = mkdtempSync(join(tmpdir(), "k8ts-flags-"));
  beforeAll(() => buildProgram(), 60_000);
  afterAll(() => rmSync(data, { recursive: true, force: true }));

  test.each(["apiserver", "controller-manager", "up"])("%s --version", (command) => {
    const { status, stdout } = runProgram([command, "--version"]);
    assert.deepEqual([status, stdout], [0, "Kubernetes v1.36.4+k8ts1\n"]);
  });

  test.each([
    { args: ["apiserver"], says: "--data-dir or --etcd-servers must be specified" },
    { args: ["up", "--no-node", "--secure-prot=1"], says: "did you mean --port?" },
    { args: ["up", "--no-node", "--port=x"], says: 'for "--port" flag' },
    {
      args: ["controller-manager", "--feature-gates=Nope=true"],
      says: "unrecognized feature gate: Nope",
    },
    {
      args: ["up", "--no-node", "--runtime-config=nope/v1=true"],
      says: "unknown api groups nope/v1",
    },
  ])("$args is refused: $says", ({ args, says }) => {
    const { status, stderr } = runProgram(args);
    assert.equal(status, 1);
    assert.ok(stderr.includes(says), stderr);
  });

  test("help shows durations and ranges as they are typed", () => {
    const { stdout } = runProgram(["apiserver", "--help"]);
    assert.match(stdout, /--request-timeout <duration>[^-]*\(default: 1m0s\)/);
    assert.match(stdout, /--event-ttl <duration>[^-]*\(default: 1h0m0s\)/);
    assert.match(stdout, /\(default: 30000-32767\)/);
  });

  test("up takes --tls-san and flags of the controller manager", async () => {
    const names = "--tls-san=cluster.example,192.0.2.7";
    await using up = startProgram([
      ...["up", "--foreground", "--no-node", "--data", data, "--port", "0", names],
      ...["--node-monitor-grace-period=20s", "--concurrent-deployment-syncs", "2"],
    ]);
    await up.says(/KUBECONFIG/);
    const certificate = new X509Certificate(readFileSync(join(data, "pki", "apiserver.crt")));
    assert.match(certificate.subjectAltName ?? "", /DNS:cluster\.example/);
    assert.match(certificate.subjectAltName ?? "", /IP Address:192\.0\.2\.7/);
    assert.equal(await up.end("SIGTERM"), 0);
  }, 60_000);
});
