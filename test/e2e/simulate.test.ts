/** Simulated nodes as users run them: `k8ts up --simulate`, `k8ts simulate`, failures by command. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { Deployment } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { completed } from "#testing/build.ts";
import {
  buildProgram,
  PROGRAM,
  type RunningProgram,
  runProgram,
  startProgram,
} from "../built-program.ts";

const LIMIT_MS = 90_000;

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (const endMs = systemClock.nowMs() + LIMIT_MS; ; ) {
    const found = await look();
    if (found !== undefined) return found;
    if (systemClock.nowMs() > endMs) throw new Error(`it did not happen within ${LIMIT_MS} ms`);
    await systemClock.sleep(50);
  }
}

function clientOf(kubeconfig: string): {
  readonly client: Client;
  readonly transport: HttpsTransport;
} {
  const transport = new HttpsTransport(connectionFromFile(kubeconfig), "test");
  const options = { transport, clock: systemClock, random: systemRandom, fieldManager: "test" };
  return { client: new Client(options), transport };
}

function deployment(replicas: number): Deployment {
  const labels = { app: "web" };
  const annotations = { "sim.k8ts.io/logs": "listening\nready" };
  return completed(deploymentKind, {
    metadata: { name: "web", namespace: "default" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations },
        spec: { containers: [{ name: "web", image: "web" }] },
      },
    },
  }) as Deployment;
}

describe("k8ts up --simulate", () => {
  let up: RunningProgram;
  let kubeconfig = "";
  let client: Client;
  let transport: HttpsTransport;

  beforeAll(async () => {
    buildProgram();
    up = startProgram(["up", "--ephemeral", "--no-node", "--simulate", "3"]);
    await up.says(/kubeconfig\n/);
    kubeconfig = /^(\S+kubeconfig)$/m.exec(up.output())?.[1] ?? "";
    ({ client, transport } = clientOf(kubeconfig));
  }, LIMIT_MS);
  afterAll(async () => {
    transport?.[Symbol.dispose]();
    assert.equal(await up?.end("SIGTERM"), 0);
  }, LIMIT_MS);

  test(
    "a Deployment's pods are Ready on simulated nodes, and pods/log has the lines of the annotation",
    async () => {
      assert.ok((await client.create(deploymentKind, deployment(6))).ok);
      await until(async () => {
        const found = await client.get(deploymentKind, { namespace: "default", name: "web" });
        return found.ok && found.value.status?.readyReplicas === 6 ? true : undefined;
      });
      const pods = await client.list(podKind, { namespace: "default" });
      assert.ok(pods.ok);
      const name = pods.value.items[0]?.metadata.name ?? "";
      const log = await client.raw(`/api/v1/namespaces/default/pods/${name}/log?tailLines=1`);
      assert.ok(log.ok, log.ok ? "" : log.status.message);
      assert.equal(log.value, "ready\n");
      const data = dirname(kubeconfig);
      const why = runProgram(["why", "pod", name, "--data", data]);
      assert.equal(why.status, 0, why.stderr);
      assert.match(why.stdout, new RegExp(`Pod default/${name}: \\d+ recorded attempt`));
      const deployed = runProgram(["why", "deployment/web", "--data", data, "-o", "json"]);
      assert.equal(JSON.parse(deployed.stdout).decisions[0].controller, "deployment-controller");
    },
    LIMIT_MS,
  );

  test(
    "`simulate fail` makes a node unknown to the cluster and `simulate recover` brings it back",
    async () => {
      const flags = ["--kubeconfig", kubeconfig];
      const failed = runProgram([
        "simulate",
        "fail",
        "--kind",
        "not-ready",
        "--zone",
        "zone-a",
        ...flags,
      ]);
      assert.equal(failed.status, 0, failed.stderr);
      assert.equal(failed.stdout, "1 node(s): not-ready\n");
      const readyIs = (wanted: string) => async (): Promise<true | undefined> => {
        const node = await client.get(nodeKind, { name: "sim-0" });
        const ready = node.ok && node.value.status.conditions?.find(({ type }) => type === "Ready");
        return ready && ready.status === wanted ? true : undefined;
      };
      await until(readyIs("False"));
      const recovered = runProgram(["simulate", "recover", "sim-0", ...flags]);
      assert.equal(recovered.status, 0, recovered.stderr);
      await until(readyIs("True"));
      const missing = runProgram(["simulate", "fail", "sim-77", ...flags]);
      assert.equal(missing.status, 1);
      assert.match(missing.stderr, /no simulated node is called sim-77/);
    },
    LIMIT_MS,
  );

  test(
    "`k8ts simulate --config` adds nodes to any cluster; the file says what their pods do",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "k8ts-simulate-"));
      const file = join(folder, "simulation.yaml");
      writeFileSync(
        file,
        "nodes: { labels: { pool: b } }\npods: [{ labels: { ends: soon }, run-for: 0s }]\n",
      );
      await using other = startProgram(["up", "--ephemeral", "--no-node"]);
      await other.says(/kubeconfig\n/);
      const otherConfig = /^(\S+kubeconfig)$/m.exec(other.output())?.[1] ?? "";
      const args = ["--nodes", "2", "--config", file, "--port", "0", "--kubeconfig", otherConfig];
      await using simulate = startProgram(["simulate", ...args]);
      await simulate.says(/2 simulated nodes are registered/);
      const there = clientOf(otherConfig);
      using _transport = there.transport;
      const pod = completed(podKind, {
        metadata: { name: "short", namespace: "default", labels: { ends: "soon" } },
        spec: { restartPolicy: "Never", containers: [{ name: "c", image: "c" }] },
      }) as Pod;
      await until(async () => ((await there.client.create(podKind, pod)).ok ? true : undefined));
      await until(async () => {
        const found = await there.client.get(podKind, { namespace: "default", name: "short" });
        return found.ok && found.value.status.phase === "Succeeded" ? true : undefined;
      });
      rmSync(folder, { recursive: true, force: true });
    },
    LIMIT_MS,
  );
});

test(
  "k8ts up: without what a real node needs it has a simulated node and says why",
  async () => {
    buildProgram();
    const env = { ...process.env, PATH: "/nonexistent", K8TS_NO_INSTALL: "1" };
    const child = spawn(process.execPath, [PROGRAM, "up", "--ephemeral"], { env });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (text) => (output += text));
    const ended = new Promise((resolve) => child.once("close", resolve));
    try {
      const kubeconfig = await until(async () => /^(\S+kubeconfig)$/m.exec(output)?.[1]);
      assert.match(output, /the cluster has a simulated node, pods run without containers: \S/);
      const { client, transport } = clientOf(kubeconfig);
      using _transport = transport;
      const nodes = await client.list(nodeKind, {});
      assert.deepEqual(nodes.ok && nodes.value.items.map(({ metadata }) => metadata.name), [
        "sim-0",
      ]);
    } finally {
      child.kill("SIGTERM");
      await ended;
    }
  },
  LIMIT_MS,
);
