/**
 * An aggregated API server on the built program: a second k8ts API server serves the group, the first
 * one proxies to it. With the upstream kubectl.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import WebSocket from "ws";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram, startProgram } from "../built-program.ts";

const missing = missingProgram("kubectl");
const folder = mkdtempSync(join(tmpdir(), "k8ts-aggregation-e2e-"));
const WITHIN_MS = 60_000;

beforeAll(() => buildProgram(), 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const DEFINITION = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "flunders.wardle.example.com" },
  spec: {
    group: "wardle.example.com",
    scope: "Namespaced",
    names: { plural: "flunders", singular: "flunder", kind: "Flunder" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: { size: { type: "integer", description: "How large it is." } },
              },
            },
          },
        },
      },
    ],
  },
};

const FLUNDER = {
  apiVersion: "wardle.example.com/v1",
  kind: "Flunder",
  metadata: { name: "a" },
  spec: { size: 3 },
};

interface Kubectl {
  (args: string, input?: object): { status: number | null; stdout: string; stderr: string };
  works(args: string, input?: object): string;
  until(args: string, expected: RegExp): Promise<string>;
}

function kubectlFor(kubeconfig: string): Kubectl {
  const run = (args: string, input?: object) => {
    const text = input === undefined ? {} : { input: JSON.stringify(input) };
    const all = ["--kubeconfig", kubeconfig, ...args.split(" ")];
    return spawnSync("kubectl", all, { encoding: "utf8", ...text });
  };
  const works = (args: string, input?: object): string => {
    const { status, stdout, stderr } = run(args, input);
    assert.equal(status, 0, `kubectl ${args}: ${stderr}`);
    return stdout;
  };
  const until = async (args: string, expected: RegExp): Promise<string> => {
    const endMs = performance.now() + WITHIN_MS;
    for (;;) {
      const { stdout, stderr } = run(args);
      if (expected.test(stdout)) return stdout;
      if (performance.now() > endMs) throw new Error(`kubectl ${args}: ${stdout}${stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  return Object.assign(run, { works, until });
}

test.skipIf(missing !== undefined)(
  "APIService: kubectl get, create, watch, explain and WebSocket watch through a second API server; when it has ended, discovery and namespace deletion go on",
  async () => {
    const data = join(folder, "first");
    const other = join(folder, "second");
    await using first = startProgram([
      "up",
      "--foreground",
      "--no-node",
      "--data",
      data,
      "--port",
      "0",
    ]);
    await first.says(/ready in/);
    const kubectl = kubectlFor(join(data, "kubeconfig"));
    const published = kubectl.works(
      "get configmap -n kube-system extension-apiserver-authentication -o jsonpath={.data}",
    );
    assert.match(published, /requestheader-client-ca-file.*X-Remote-User|X-Remote-User/);

    await using second = startProgram([
      "apiserver",
      ...["--data-dir", other, "--bind-address", "127.0.0.1", "--secure-port", "0"],
      ...["--requestheader-client-ca-file", join(data, "pki", "front-proxy-ca.crt")],
      ...["--requestheader-allowed-names", "front-proxy-client"],
      ...["--tls-san", "api.wardle.svc"],
    ]);
    await second.says(/ready|serving|listening/i);
    const direct = kubectlFor(join(other, "admin.kubeconfig"));
    await direct.until("get --raw /readyz", /^ok/);
    direct.works("create -f -", DEFINITION);
    direct.works("wait --for=condition=Established crd/flunders.wardle.example.com --timeout=60s");
    const config = readFileSync(join(other, "admin.kubeconfig"), "utf8");
    const port = Number(/server: "?https:\/\/[^:]+:(\d+)/.exec(config)?.[1]);

    kubectl.works("create namespace wardle");
    kubectl.works("create -f -", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "api", namespace: "wardle" },
      spec: { type: "ExternalName", externalName: "localhost" },
    });
    kubectl.works("create -f -", {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1.wardle.example.com" },
      spec: {
        group: "wardle.example.com",
        version: "v1",
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        service: { namespace: "wardle", name: "api", port },
        caBundle: readFileSync(join(other, "pki", "ca.crt")).toString("base64"),
      },
    });
    kubectl.works("wait --for=condition=Available apiservice/v1.wardle.example.com --timeout=60s");
    await kubectl.until("api-resources --api-group=wardle.example.com", /flunders/);
    kubectl.works("create -f - --validate=false", FLUNDER);
    assert.match(kubectl.works("get flunders"), /^NAME +AGE\na +/);
    assert.equal(direct.works("get flunder a -o jsonpath={.spec.size}"), "3");
    await kubectl.until("explain flunder.spec.size", /How large it is\./);
    const owner = kubectl.works(
      "get flunder a --show-managed-fields -o jsonpath={.metadata.managedFields[0].manager}",
    );
    assert.equal(owner, "kubectl-create");

    await watched(join(data, "kubeconfig"), () => {
      kubectl.works("label flunder a seen=yes");
    });
    await watchedByWebSocket(data);

    kubectl.works("create configmap left -n wardle");
    await second.end("SIGKILL");
    kubectl("get flunders"); // fails, and the APIService is checked
    await kubectl.until(
      "get apiservice v1.wardle.example.com -o jsonpath={.status.conditions[0].reason}",
      /^FailedDiscoveryCheck$/,
    );
    assert.match(
      kubectl("get flunders").stderr,
      /unable to handle the request|doesn't have a resource/,
    );
    assert.match(kubectl.works("get pods -A").trim(), /^$/);
    kubectl.works("delete namespace wardle --wait=false");
    await kubectl.until(
      "get namespace wardle -o jsonpath={.status.conditions[*].type}",
      /NamespaceDeletionDiscoveryFailure/,
    );
    await kubectl.until("get configmaps -n wardle -o name", /^$/);
    kubectl.works("delete apiservice v1.wardle.example.com");
    await kubectl.until("get namespaces -o name", /^(?![\s\S]*namespace\/wardle)/);
  },
  240_000,
);

/** `kubectl get -w` sees the change. */
async function watched(kubeconfig: string, change: () => void): Promise<void> {
  const args = ["--kubeconfig", kubeconfig, "get", "flunders", "-w", "--show-labels"];
  const child = spawn("kubectl", args, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    let output = "";
    let isChanged = false;
    for await (const chunk of child.stdout) {
      output += chunk;
      if (!isChanged && /^a /m.test(output)) {
        isChanged = true;
        change();
      }
      if (/seen=yes/.test(output)) return;
    }
    assert.fail(`kubectl get -w ended: ${output}`);
  } finally {
    child.kill();
  }
}

/** A connection that changes its protocol goes through to the second server. */
async function watchedByWebSocket(data: string): Promise<void> {
  const config = readFileSync(join(data, "kubeconfig"), "utf8");
  const part = (name: string): Buffer =>
    Buffer.from(new RegExp(`${name}: "?([A-Za-z0-9+/=]+)`).exec(config)?.[1] ?? "", "base64");
  const server = /server: "?https:\/\/([^"\s]+)/.exec(config)?.[1];
  const path = "/apis/wardle.example.com/v1/namespaces/default/flunders?watch=1&resourceVersion=0";
  const socket = new WebSocket(`wss://${server}${path}`, {
    ca: part("certificate-authority-data"),
    cert: part("client-certificate-data"),
    key: part("client-key-data"),
    origin: "https://localhost", // upstream refuses WebSockets without one
  });
  try {
    const [message] = await new Promise<[Buffer]>((resolve, reject) => {
      socket.once("message", (bytes: Buffer) => resolve([bytes]));
      socket.once("error", reject);
    });
    const event = JSON.parse(message.toString()) as { type: string; object: { kind: string } };
    assert.deepEqual([event.type, event.object.kind], ["ADDED", "Flunder"]);
  } finally {
    socket.terminate();
  }
}
