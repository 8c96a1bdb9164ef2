/**
 * Autoscaling by custom.metrics.k8s.io and external.metrics.k8s.io on the built program: real autoscalers ask
 * through the APIServices, and the pods' metrics page is served on loopback. No kubelet runs: the test writes
 * the status of the node and of the pods.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram, startProgram } from "../built-program.ts";

const WITHIN_MS = 120_000;
const missing = missingProgram("kubectl");
const folder = mkdtempSync(join(tmpdir(), "k8ts-custom-metrics-"));
const data = join(folder, "data");

beforeAll(() => buildProgram(), 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function kubectl(args: readonly string[], input?: object) {
  const text = input === undefined ? {} : { input: JSON.stringify(input) };
  const all = ["--kubeconfig", join(data, "kubeconfig"), ...args];
  return spawnSync("kubectl", all, { encoding: "utf8", ...text });
}

function works(line: string, input?: object): string {
  const { status, stdout, stderr } = kubectl(line.split(" "), input);
  assert.equal(status, 0, `kubectl ${line}: ${stderr}`);
  return stdout;
}

async function until(line: string, expected: RegExp): Promise<void> {
  for (const endMs = performance.now() + WITHIN_MS; ; ) {
    const { stdout, stderr } = kubectl(line.split(" "));
    if (expected.test(stdout)) return;
    if (performance.now() > endMs) throw new Error(`kubectl ${line}: ${stdout}${stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function patchStatus(object: string, status: object): void {
  const patch = JSON.stringify({ status });
  const args = ["patch", object, "--subresource=status", "--type=merge", "-p", patch];
  const { status: code, stderr } = kubectl(args);
  assert.equal(code, 0, stderr);
}

test.skipIf(missing !== undefined)(
  "HorizontalPodAutoscaler by custom.metrics.k8s.io (Pods) and external.metrics.k8s.io scales up and down",
  async () => {
    let queueLength = 30;
    const pages = createServer((_request, reply) => {
      reply.end(
        `# TYPE queue_length gauge\nqueue_length{queue="mail"} ${queueLength}\nqueue_length{queue="print"} 0\n`,
      );
    });
    await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
    const { port } = pages.address() as AddressInfo;
    const often = ["--horizontal-pod-autoscaler-sync-period", "1s"];
    const flags = ["--no-node", "--data", data, "--port", "0", ...often];
    await using cluster = startProgram(["up", "--foreground", ...flags]);
    try {
      await cluster.says(/ready in/);
      works("create -f -", NODE);
      patchStatus("node/by-hand", NODE_STATUS);
      for (const [name, metric] of Object.entries(METRICS)) {
        works("create -f -", deploymentOf(name, port));
        works("create -f -", serviceOf(name));
        works("create -f -", autoscalerOf(name, metric));
        await until(`get pods -l app=${name} -o name`, /^pod\/\S+\n$/);
        const pod = works(`get pods -l app=${name} -o name`).trim();
        await until(`get ${pod} -o jsonpath={.spec.nodeName}`, /by-hand/);
        patchStatus(pod, RUNNING);
      }
      for (const name of Object.keys(METRICS))
        await until(`get deployment ${name} -o jsonpath={.spec.replicas}`, /^3$/);
      queueLength = 0;
      for (const name of Object.keys(METRICS))
        await until(`get deployment ${name} -o jsonpath={.spec.replicas}`, /^1$/);
    } finally {
      pages.close();
      pages.closeAllConnections();
    }
  },
  360_000,
);

const selector = { matchLabels: { queue: "mail" } };

const METRICS: Readonly<Record<string, object>> = {
  "by-pods": {
    type: "Pods",
    pods: {
      metric: { name: "queue_length", selector },
      target: { type: "AverageValue", averageValue: "10" },
    },
  },
  "by-external": {
    type: "External",
    external: {
      metric: { name: "queue_length", selector },
      target: { type: "Value", value: "10" },
    },
  },
};

const NODE = { apiVersion: "v1", kind: "Node", metadata: { name: "by-hand" } };
const HERE = { cpu: "8", memory: "8Gi", pods: "100" };
const NODE_STATUS = {
  capacity: HERE,
  allocatable: HERE,
  conditions: [
    {
      ...{ type: "Ready", status: "True", reason: "Test", message: "" },
      lastHeartbeatTime: new Date().toISOString(),
      lastTransitionTime: new Date().toISOString(),
    },
  ],
};

const RUNNING = {
  phase: "Running",
  podIP: "127.0.0.1",
  podIPs: [{ ip: "127.0.0.1" }],
  startTime: "2026-01-01T00:00:00Z",
  conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }],
};

function deploymentOf(name: string, port: number): object {
  const annotations = { "prometheus.io/scrape": "true", "prometheus.io/port": String(port) };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name }, annotations },
        spec: { containers: [{ name: "worker", image: "worker" }] },
      },
    },
  };
}

function serviceOf(name: string): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name,
      annotations: name === "by-external" ? { "prometheus.io/scrape": "true" } : {},
    },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  };
}

function autoscalerOf(name: string, metric: object): object {
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name },
      ...{ minReplicas: 1, maxReplicas: 3, metrics: [metric] },
      behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
    },
  };
}
