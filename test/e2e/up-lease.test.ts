/** The controllers of `k8ts up` hold the lease, on the embedded store too. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { Lease } from "#api/generated/coordination.v1.ts";
import { Client, type Typed } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { buildProgram, type RunningProgram, startProgram } from "../built-program.ts";

const SURROUNDINGS = { clock: systemClock, random: systemRandom, fieldManager: "test" };

const LEASE: Typed<Lease> = {
  group: "coordination.k8s.io",
  version: "v1",
  apiVersion: "coordination.k8s.io/v1",
  scope: "Namespaced",
  names: { kind: "Lease", plural: "leases" },
};

describe("the lease kube-controller-manager of k8ts up", () => {
  const data = mkdtempSync(join(tmpdir(), "k8ts-lease-"));
  beforeAll(() => buildProgram(), 60_000);
  afterAll(() => rmSync(data, { recursive: true, force: true }));

  async function up(): Promise<RunningProgram> {
    const flags = ["--data", data, "--port", "0", "--bind-address", "127.0.0.1"];
    const program = startProgram(["up", "--foreground", "--no-node", ...flags]);
    await program.says(/KUBECONFIG/);
    return program;
  }

  async function holder(): Promise<string> {
    using transport = new HttpsTransport(connectionFromFile(join(data, "kubeconfig")), "test");
    const client = new Client({ transport, ...SURROUNDINGS });
    const name = { namespace: "kube-system", name: "kube-controller-manager" };
    for (let tries = 0; tries < 100; tries++) {
      const lease = await client.get(LEASE, name);
      if (lease.ok) return lease.value.spec.holderIdentity ?? "";
      await sleep(50);
    }
    return "none";
  }

  test("keeps a controller manager beside it from doing everything twice", async () => {
    await using cluster = await up();
    const kubeconfig = join(data, "controller-manager.kubeconfig");
    await using manager = startProgram([
      "controller-manager",
      "--kubeconfig",
      kubeconfig,
      "--secure-port",
      "0",
    ]);
    await sleep(3_000); // it tries every two seconds
    assert.doesNotMatch(manager.output(), /leading/);
    assert.match(await holder(), /_k8ts-up$/);
    assert.equal(await manager.end("SIGTERM"), 0);
    assert.equal(await cluster.end("SIGTERM"), 0);
  }, 60_000);

  test("is held again at once after kill -9", async () => {
    await using first = await up();
    await first.says(/leading/);
    await first.end("SIGKILL");
    await using second = await up();
    const startMs = performance.now();
    await second.says(/leading/);
    assert.ok(performance.now() - startMs < 10_000); // a stranger's lease lasts fifteen seconds
    assert.equal(await second.end("SIGTERM"), 0);
  }, 60_000);
});
