/** `k8ts snapshot` and `k8ts store copy` of the built program, on a running cluster and a real etcd. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { askHttps } from "../apiserver/https-ask.ts";
import { buildProgram, PROGRAM } from "../built-program.ts";
import { startEtcd } from "../store/etcd-cluster.ts";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const folder = mkdtempSync(join(tmpdir(), "k8ts-snapshot-e2e-"));
const running: ChildProcess[] = [];

beforeAll(() => buildProgram(), 60_000);
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

test("k8ts snapshot: save while the cluster runs, ls, verify, restore into another data directory", async () => {
  const data = join(folder, "first");
  const first = await up(data);
  await first.create("before");
  const saved = k8ts("snapshot", "save", "--data", data, "--keep", "3");
  assert.equal(saved.status, 0, saved.stderr);
  await first.create("after");
  const [file = ""] = readdirSync(join(data, "snapshots"));
  const path = join(data, "snapshots", file);
  const listed = k8ts("snapshot", "ls", "--data", data);
  assert.match(listed.stdout, /^FILE +SAVED +REVISION +KEYS +BYTES\n/);
  assert.ok(listed.stdout.includes(path), listed.stdout);
  const [asJson] = JSON.parse(k8ts("snapshot", "ls", "-o", "json", "--data", data).stdout);
  assert.equal(asJson.file, path);
  assert.ok(asJson.revision > 0 && asJson.keys > 0 && asJson.bytes > 0, JSON.stringify(asJson));
  assert.match(k8ts("snapshot", "verify", path).stdout, /^sound: .*: revision \d+, \d+ keys/);

  const refused = k8ts("snapshot", "restore", path, "--data", data);
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /is there already: it is not overwritten/);

  const other = join(folder, "second");
  const restored = k8ts("snapshot", "restore", path, "--data", other);
  assert.equal(restored.status, 0, restored.stderr);
  assert.match(restored.stdout, /has no pki folder/);
  cpSync(join(data, "pki"), join(other, "pki"), { recursive: true });
  await first.end();
  const second = await up(other);
  assert.equal(await second.has("before"), true);
  assert.equal(await second.has("after"), false);
  await second.end();
}, 60_000);

test("k8ts snapshot: verify and restore refuse a damaged file", async () => {
  const path = join(folder, "damaged.snapshot");
  writeFileSync(path, "no snapshot at all");
  const verified = k8ts("snapshot", "verify", path);
  assert.equal(verified.status, 1);
  const restored = k8ts("snapshot", "restore", path, "--data", join(folder, "none"));
  assert.equal(restored.status, 1);
  const [file = ""] = readdirSync(join(folder, "first", "snapshots"));
  const cut = join(folder, "cut.snapshot");
  cpSync(join(folder, "first", "snapshots", file), cut);
  truncateSync(cut, 10_000);
  assert.equal(k8ts("snapshot", "verify", cut).status, 1);
});

const missing = missingProgram("etcd");

test.skipIf(missing !== undefined)(
  `store copy moves a cluster to etcd and back${missing ? ` (${missing})` : ""}`,
  async () => {
    await using etcd = await startEtcd();
    const urls = etcd.endpoints.join(",");
    const data = join(folder, "moving");
    const before = await up(data);
    await before.create("kept");
    const busy = k8ts("store", "copy", "--from", data, "--to", urls);
    assert.equal(busy.status, 1);
    assert.match(busy.stderr, /is in use by process \d+/);
    await before.end();
    const there = k8ts("store", "copy", "--from", data, "--to", urls);
    assert.equal(there.status, 0, there.stderr);
    assert.match(there.stdout, /^copied \d+ keys of revision \d+/);
    const again = k8ts("store", "copy", "--from", data, "--to", urls);
    assert.match(again.stderr, /etcd has keys already/);

    const moved = await up(data, ["--etcd-servers", urls]);
    assert.equal(await moved.has("kept"), true);
    await moved.create("on-etcd");
    await moved.end();

    const home = join(folder, "home");
    const back = k8ts("store", "copy", "--from", urls, "--to", home);
    assert.equal(back.status, 0, back.stderr);
    cpSync(join(data, "pki"), join(home, "pki"), { recursive: true });
    const after = await up(home);
    assert.equal(await after.has("kept"), true);
    assert.equal(await after.has("on-etcd"), true);
    await after.end();
  },
  120_000,
);

function k8ts(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [PROGRAM, ...args], { encoding: "utf8", timeout: 30_000 });
}

interface Cluster {
  create(name: string): Promise<void>;
  has(name: string): Promise<boolean>;
  end(): Promise<void>;
}

async function up(data: string, more: readonly string[] = []): Promise<Cluster> {
  const tokens = join(folder, "tokens.csv");
  writeFileSync(tokens, 'tok,admin,1,"system:masters"\n');
  const own = ["--data", data, "--port", "0", "--bind-address", "127.0.0.1"];
  const args = [
    PROGRAM,
    "up",
    "--foreground",
    "--no-node",
    ...own,
    "--token-auth-file",
    tokens,
    ...more,
  ];
  const child = spawn(process.execPath, args);
  running.push(child);
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
    create: async (name) => {
      const body = { metadata: { name } };
      const ask = { method: "POST", path: CONFIG_MAPS, body, token: "tok" } as const;
      const { code } = await askHttps(server, ask);
      assert.equal(code, 201);
    },
    has: async (name) => {
      const path = `${CONFIG_MAPS}/${name}`;
      return (await askHttps(server, { method: "GET", path, token: "tok" })).code === 200;
    },
    end: async () => {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}
