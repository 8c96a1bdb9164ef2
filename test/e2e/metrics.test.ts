/**
 * Resource metrics on the built program with simulated nodes: kubectl top through a real APIService, an
 * autoscaler that scales by CPU, rights, and the metrics server alone.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram, startProgram } from "../built-program.ts";

const missing = missingProgram("kubectl");
const folder = mkdtempSync(join(tmpdir(), "k8ts-metrics-e2e-"));
const kubeconfig = join(folder, "data", "kubeconfig");
const WITHIN_MS = 120_000;

beforeAll(() => buildProgram(), 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function kubectl(args: string, input?: object) {
  const text = input === undefined ? {} : { input: JSON.stringify(input) };
  const all = ["--kubeconfig", kubeconfig, ...args.split(" ")];
  return spawnSync("kubectl", all, { encoding: "utf8", ...text });
}

function works(args: string, input?: object): string {
  const { status, stdout, stderr } = kubectl(args, input);
  assert.equal(status, 0, `kubectl ${args}: ${stderr}`);
  return stdout;
}

async function until(args: string, expected: RegExp): Promise<string> {
  for (const endMs = performance.now() + WITHIN_MS; ; ) {
    const { stdout, stderr } = kubectl(args);
    if (expected.test(stdout)) return stdout;
    if (performance.now() > endMs) throw new Error(`kubectl ${args}: ${stdout}${stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** Each pod uses 150 % of what it requests. */
const DEPLOYMENT = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "busy" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "busy" } },
    template: {
      metadata: {
        labels: { app: "busy" },
        annotations: { "sim.k8ts.io/cpu": "150m", "sim.k8ts.io/memory": "64Mi" },
      },
      spec: {
        containers: [
          { name: "busy", image: "busy", resources: { requests: { cpu: "100m", memory: "64Mi" } } },
        ],
      },
    },
  },
};

const AUTOSCALER = {
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: "busy" },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "busy" },
    minReplicas: 1,
    maxReplicas: 3,
    metrics: [
      {
        type: "ContainerResource",
        containerResource: {
          ...{ name: "cpu", container: "busy" },
          target: { type: "Utilization", averageUtilization: 50 },
        },
      },
    ],
  },
};

test.skipIf(missing !== undefined)(
  "metrics.k8s.io: kubectl top nodes and pods, HorizontalPodAutoscaler by ContainerResource, RBAC, k8ts metrics-server alone",
  async () => {
    const flags = ["--no-node", "--simulate", "2", "--data", join(folder, "data"), "--port", "0"];
    await using cluster = startProgram(["up", "--foreground", ...flags]);
    await cluster.says(/ready in/);
    works("create -f -", DEPLOYMENT);
    works("create -f -", AUTOSCALER);
    await until("get apiservice v1beta1.metrics.k8s.io -o wide", /True/);
    const nodes = await until("top nodes --no-headers", /^sim-0 .*\nsim-1 .*\n/);
    assert.match(nodes, /^sim-0 +\d+m +\d+% +\d+Mi +\d+%/);
    // Windows end at whole seconds of the simulation, so that a value may be off by a little.
    await until(
      "top pods --containers --no-headers --sort-by=memory",
      /^busy-\S+ +busy +1\d\dm +64Mi/,
    );
    await until("get podmetrics -l app=busy --no-headers", /^busy-/);
    assert.match(kubectl("top pods -l app=other").stderr, /No resources found/);

    await until("get deployment busy -o jsonpath={.spec.replicas}", /^3$/);
    await until("get hpa busy -o jsonpath={.status.currentMetrics[0].type}", /^ContainerResource$/);

    const refused = kubectl("top pods --as=jane").stderr;
    assert.match(refused, /pods.metrics.k8s.io is forbidden: User "jane" cannot list resource/);
    works("create rolebinding jane --clusterrole=view --user=jane");
    await until("top pods --no-headers --as=jane", /^busy-/);

    await using alone = startProgram([
      ...["metrics-server", "--kubeconfig", kubeconfig, "--bind-address", "127.0.0.1"],
      ...["--secure-port", "0", "--kubelet-insecure-tls", "--metric-resolution", "10s"],
    ]);
    await alone.says(/Serving securely/);
    const port = Number(/port=(\d+)/.exec(alone.output())?.[1]);
    assert.equal((await get(port, "/apis/metrics.k8s.io/v1beta1/nodes", false)).code, 401);
    for (const endMs = performance.now() + WITHIN_MS; ; ) {
      const { code, text } = await get(port, "/apis/metrics.k8s.io/v1beta1/nodes", true);
      if (code === 200 && text.includes('"name":"sim-1"')) break;
      assert.ok(performance.now() < endMs, `${code} ${text}`);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    const own = await get(port, "/metrics", true);
    assert.match(own.text, /metrics_server_kubelet_request_total\{result="success"\} \d+/);
  },
  360_000,
);

/** Straight to the metrics server, as the administrator or anonymously. */
function get(port: number, path: string, isAdmin: boolean) {
  const config = readFileSync(kubeconfig, "utf8");
  const part = (name: string): Buffer =>
    Buffer.from(new RegExp(`${name}: "?([A-Za-z0-9+/=]+)`).exec(config)?.[1] ?? "", "base64");
  const identity = isAdmin
    ? { cert: part("client-certificate-data"), key: part("client-key-data") }
    : {};
  return new Promise<{ readonly code: number; readonly text: string }>((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, rejectUnauthorized: false, agent: false };
    const asked = request({ ...options, ...identity }, async (answer) => {
      let text = "";
      for await (const chunk of answer) text += chunk;
      resolve({ code: answer.statusCode ?? 0, text });
    });
    asked.on("error", reject);
    asked.end();
  });
}
