/**
 * The first start after a build would compile everything anew: servers that live for a moment leave
 * behind what the next ones need. One for each set of V8's flags that the program runs with, since
 * what is remembered goes by them, and each twice, since a start on existing data runs other functions,
 * among them those that read definitions of custom resources. Without it they start all the same, only
 * slower.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WRITE_ALL_CODE_CACHES } from "../src/cli/code-caches.ts";

const READY_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 20;
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

interface BriefStart {
  /** Those that the launcher gives to Node. */
  readonly nodeFlags: readonly string[];
  /** The last flag is that of the data directory. */
  readonly command: readonly string[];
  /** The file in the data directory that has the address of the server. */
  readonly kubeconfig: string;
}

const STARTS: readonly BriefStart[] = [
  {
    nodeFlags: ["--max-semi-space-size=64"],
    command: ["up", "--foreground", "--no-node", "--port", "0", "--data"],
    kubeconfig: "kubeconfig",
  },
  {
    nodeFlags: ["--max-semi-space-size=16"],
    command: ["apiserver", "--secure-port", "0", "--data-dir"],
    kubeconfig: "admin.kubeconfig",
  },
];

export async function rememberCompiledCode(program: string): Promise<void> {
  await Promise.all(
    STARTS.map(async (start) => {
      const data = mkdtempSync(join(tmpdir(), "k8ts-build-"));
      await startForAMoment(program, start, data, addDefinition);
      rmSync(join(data, start.kubeconfig), { force: true }); // made again by the second
      await startForAMoment(program, start, data);
      rmSync(data, { recursive: true, force: true });
    }),
  );
}

async function startForAMoment(
  program: string,
  { nodeFlags, command, kubeconfig }: BriefStart,
  data: string,
  onceReady: (kubeconfig: string) => Promise<unknown> = async () => undefined,
): Promise<void> {
  const args = [...command, data, "--bind-address", "127.0.0.1"];
  const child = spawn(process.execPath, [...nodeFlags, program, ...args], {
    stdio: "ignore",
    timeout: READY_WITHIN_MS,
    env: { ...process.env, [WRITE_ALL_CODE_CACHES]: "true" },
  });
  const closed = once(child, "close");
  const file = join(data, kubeconfig);
  while (child.exitCode === null && (await ask(file, "GET", "/readyz")) !== 200) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  await onceReady(file);
  child.kill(); // once: a second signal would end it before it has written what it compiled
  await closed;
}

/** One with what most of them have: several types, a default, a rule, a column and both sub-resources. */
function addDefinition(kubeconfig: string): Promise<number> {
  const text = { type: "string", description: "text", pattern: "^[a-z]*$", default: "a" };
  const list = { type: "array", items: { type: "object", properties: { text } } };
  const count = { type: "integer", format: "int32", minimum: 0 };
  const spec = {
    type: "object",
    required: ["count"],
    properties: { text, list, count, mode: { type: "string", enum: ["a", "b"] } },
    "x-kubernetes-validations": [{ rule: "self.count < 10", message: "at most 9" }],
  };
  const status = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return ask(kubeconfig, "POST", DEFINITIONS, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "samples.build.example.com" },
    spec: {
      group: "build.example.com",
      names: { kind: "Sample", plural: "samples", shortNames: ["sm"] },
      scope: "Namespaced",
      versions: [
        {
          name: "v1",
          ...{ served: true, storage: true },
          schema: { openAPIV3Schema: { type: "object", properties: { spec, status } } },
          subresources: {
            status: {},
            scale: { specReplicasPath: ".spec.count", statusReplicasPath: ".status.count" },
          },
          additionalPrinterColumns: [{ name: "Count", type: "integer", jsonPath: ".spec.count" }],
        },
      ],
    },
  });
}

/** The status of the answer of a kubeconfig's server; 0 if there is none. */
async function ask(
  kubeconfig: string,
  method: string,
  path: string,
  body?: object,
): Promise<number> {
  if (!existsSync(kubeconfig)) return 0;
  const text = readFileSync(kubeconfig, "utf8");
  const [, server] = /server: "?([^"\s]+)/.exec(text) ?? [];
  if (server === undefined) return 0;
  const identity = { cert: pemOf(text, "certificate"), key: pemOf(text, "key") };
  const headers = { "content-type": "application/json" };
  return await new Promise((resolve) => {
    const options = { method, headers, rejectUnauthorized: false, ...identity };
    const asked = request(`${server}${path}`, options, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.on("error", () => resolve(0));
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The client's certificate or key, which are base64 in a kubeconfig. */
function pemOf(kubeconfig: string, what: "certificate" | "key"): string | undefined {
  const [, data] = new RegExp(`client-${what}-data: "?([^"\\s]+)`).exec(kubeconfig) ?? [];
  return data === undefined ? undefined : Buffer.from(data, "base64").toString();
}
