/** Several programs on one real etcd: each answers, and the controllers of one of them work. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { askHttps, type HttpsAsk } from "../apiserver/https-ask.ts";
import { buildProgram, PROGRAM } from "../built-program.ts";
import { startEtcd } from "../store/etcd-cluster.ts";

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager";
const missing = missingProgram("etcd");

describe.skipIf(missing !== undefined)(`on etcd${missing ? ` (${missing})` : ""}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-shared-"));
  const children: ChildProcess[] = [];
  beforeAll(buildProgram, 60_000);
  afterAll(() => {
    for (const child of children) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  async function up(name: string, endpoints: readonly string[]): Promise<Program> {
    const data = join(folder, name);
    const tokens = join(folder, "tokens.csv");
    writeFileSync(tokens, 'tok,admin,1,"system:masters"\n');
    const args = ["--data", data, "--port", "0", "--bind-address", "127.0.0.1"];
    const more = ["--token-auth-file", tokens, "--etcd-servers", endpoints.join(",")];
    const child = spawn(process.execPath, [
      PROGRAM,
      "up",
      "--foreground",
      "--no-node",
      ...args,
      ...more,
    ]);
    children.push(child);
    let stderr = "";
    child.stderr.on("data", (chunk) => (stderr += chunk));
    const port = await new Promise<number>((resolve, reject) => {
      child.stdout.on("data", (chunk) => {
        const found = /127\.0\.0\.1:(\d+)/.exec(`${chunk}`);
        if (found !== null) resolve(Number(found[1]));
      });
      child.on("exit", () => reject(new Error(stderr)));
    });
    const server = { port, directory: data };
    return {
      child,
      ask: (request) => askHttps(server, { ...request, token: "tok" }),
    };
  }

  test("one leads; when it ends, the other does; one with another PKI is refused", async () => {
    await using etcd = await startEtcd();
    const first = await up("first", etcd.endpoints);
    const leader = await holder(first);
    await assert.rejects(up("stranger", etcd.endpoints), /another certificate authority/);
    cpSync(join(folder, "first", "pki"), join(folder, "second", "pki"), { recursive: true });
    const second = await up("second", etcd.endpoints);
    await hasAccount(second, "one");
    assert.equal(await holder(second), leader);
    const ended = new Promise((resolve) => first.child.once("exit", resolve));
    first.child.kill("SIGTERM");
    assert.equal(await ended, 0);
    await hasAccount(second, "two");
    assert.notEqual(await holder(second), leader);
  }, 120_000);
});

interface Program {
  readonly child: ChildProcess;
  ask(request: HttpsAsk): ReturnType<typeof askHttps>;
}

/** A new namespace gets its service account: the controllers of one of the clusters work. */
async function hasAccount({ ask }: Program, namespace: string): Promise<void> {
  const body = { metadata: { name: namespace } };
  const made = await ask({ method: "POST", path: "/api/v1/namespaces", body });
  assert.equal(made.code, 201);
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
  await until(async () => (await ask({ path })).code === 200, path);
}

async function holder({ ask }: Program): Promise<string> {
  let identity = "";
  await until(async () => {
    identity = (await ask({ path: LEASE })).json.spec?.holderIdentity ?? "";
    return identity !== "";
  }, "a leader is elected");
  return identity;
}

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  for (let i = 0; i < 500; i++) {
    if (await isSo()) return;
    await sleep(100);
  }
  assert.fail(`not within 50 s: ${what}`);
}
