/** Answers of the built program that differed from kube-apiserver's. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram, type RunningProgram, startProgram } from "../built-program.ts";

const missing = missingProgram("kubectl");

describe.skipIf(missing !== undefined)("k8ts up answers as kube-apiserver", () => {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-answers-"));
  let up: RunningProgram;

  beforeAll(async () => {
    buildProgram();
    const flags = ["--no-node", "--port", "0", "--data", join(folder, "data")];
    up = startProgram(["up", "--foreground", ...flags]);
    await up.says(/ready in/);
  }, 120_000);

  afterAll(async () => {
    await up[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const kubectl = (...args: readonly string[]) =>
    spawnSync("kubectl", ["--kubeconfig", join(folder, "data", "kubeconfig"), ...args], {
      encoding: "utf8",
    });

  /** Sends the object as it is: kubectl itself would refuse some. */
  const post = (path: string, object: object) => {
    const file = join(folder, "object.json");
    writeFileSync(file, JSON.stringify(object));
    return kubectl("create", "--raw", path, "-f", file);
  };

  const deployment = (apiVersion: string): object => ({
    apiVersion,
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: {
        metadata: { labels: { a: "b" } },
        spec: { containers: [{ name: "c", image: "i" }] },
      },
    },
  });
  const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";

  test("DELETE of a system PriorityClass: 403", () => {
    const { status, stderr } = kubectl("delete", "priorityclass", "system-node-critical");
    assert.equal(status, 1);
    assert.match(stderr, /\(Forbidden\).*: this is a system priority class and cannot be deleted/);
  });

  test("a body of another apiVersion of its kind: 400", () => {
    const { status, stderr } = post(DEPLOYMENTS, deployment("apps/v1beta1"));
    assert.equal(status, 1);
    assert.match(
      stderr,
      /the API version in the data \(apps\/v1beta1\) does not match the expected API version \(apps\/v1\)/,
    );
  });

  test("a strategic merge patch with a string where a list belongs: 422", () => {
    assert.equal(post(DEPLOYMENTS, deployment("apps/v1")).status, 0);
    const patch = JSON.stringify({ spec: { template: { spec: { tolerations: "x" } } } });
    const { status, stderr } = kubectl("patch", "deployment", "web", "-p", patch);
    assert.equal(status, 1);
    assert.match(stderr, /cannot restore slice from string/);
  });

  test("IPAddress: generateName is the name itself", () => {
    const parentRef = { resource: "services", namespace: "default", name: "s" };
    const { status, stdout } = post("/apis/networking.k8s.io/v1/ipaddresses", {
      apiVersion: "networking.k8s.io/v1",
      kind: "IPAddress",
      metadata: { generateName: "10.9.8.7" },
      spec: { parentRef },
    });
    assert.deepEqual([status, JSON.parse(stdout).metadata.name], [0, "10.9.8.7"]);
  });
});
