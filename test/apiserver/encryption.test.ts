/** Encryption at rest in a whole API server: what lies in the store, rotation, reload, keys that are gone. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, test } from "vitest";
import { startKmsPlugin } from "#apiserver/encryption/kms/kms-plugin.testing.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { startEtcd } from "../store/etcd-cluster.ts";
import { openWhenReady } from "../store/open-etcd.ts";
import { askHttps } from "./https-ask.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

const TIME = { timeout: 60_000 };
const SECRETS = "/api/v1/namespaces/default/secrets";
const folder = mkdtempSync(join(tmpdir(), "k8ts-test-encryption-"));
afterAll(() => rmSync(folder, { recursive: true }));

const KEYS = [1, 2].map((byte) => Buffer.alloc(32, byte).toString("base64"));
const keyed = (provider: string, at: 0 | 1): string =>
  `{${provider}: {keys: [{name: key${at + 1}, secret: ${KEYS[at]}}]}}`;
const IDENTITY = "{identity: {}}";

let files = 0;
function newFile(): string {
  files += 1;
  return join(folder, `config-${files}.yaml`);
}

function writeConfig(file: string, providers: readonly string[], resources = "[secrets]"): void {
  const rule = `{resources: ${resources}, providers: [${providers.join(", ")}]}`;
  writeFileSync(
    file,
    `{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [${rule}]}`,
  );
}

function start(file: string, ...flags: readonly string[]): Promise<TestServer> {
  return startTestServer({
    tokens: "tok,admin,1,system:masters",
    flags: ["--encryption-provider-config", file, ...flags],
  });
}

const ask = (server: TestServer, path: string, method = "GET", body?: object) =>
  askHttps(server, { token: "tok", path, method, ...(body === undefined ? {} : { body }) });

async function makeSecret(server: TestServer, name: string) {
  const made = await ask(server, SECRETS, "POST", {
    metadata: { name },
    stringData: { word: "plain-text" },
  });
  assert.equal(made.code, 201, made.text);
  return made.json;
}

/** What lies in the embedded store of a server that is not running. */
async function stored({ directory }: TestServer, key: string): Promise<string> {
  await using store = await openEmbeddedStore({
    directory: join(directory, "store"),
    clock: systemClock,
  });
  const { entry } = await store.get(`/registry/${key}`);
  return Buffer.from(entry!.value).toString("latin1");
}

describe("encryption at rest", TIME, () => {
  test.each(["aescbc", "aesgcm", "secretbox"])(
    "%s: Secrets are encrypted in the store",
    async (provider) => {
      const file = newFile();
      writeConfig(file, [keyed(provider, 0), IDENTITY], "[secrets, '*.apps']");
      await using server = await start(file);
      await makeSecret(server, "a");
      const config = await ask(server, "/api/v1/namespaces/default/configmaps", "POST", {
        metadata: { name: "c" },
      });
      assert.equal(config.code, 201);
      const set = await ask(
        server,
        "/apis/apps/v1/namespaces/default/controllerrevisions",
        "POST",
        {
          metadata: { name: "r" },
          revision: 1,
          data: {},
        },
      );
      assert.equal(set.code, 201, set.text);
      await server.restart(async () => {
        const prefix = `k8s:enc:${provider}:v1:key1:`;
        const secret = await stored(server, "secrets/default/a");
        assert.equal(secret.slice(0, prefix.length), prefix);
        assert.ok(!secret.includes("cGxhaW4tdGV4dA"));
        assert.ok((await stored(server, "controllerrevisions/default/r")).startsWith(prefix));
        assert.match(await stored(server, "configmaps/default/c"), /^\{"kind":"ConfigMap"/);
      });
      const { json } = await ask(server, `${SECRETS}/a`);
      assert.equal(Buffer.from(json.data.word, "base64").toString(), "plain-text");
      const metrics = await ask(server, "/metrics");
      assert.match(
        metrics.text,
        new RegExp(
          `apiserver_storage_transformation_operations_total\\{resource="secrets",transformation_type="from_storage",transformer_prefix="k8s:enc:${provider}:v1:",status="OK"\\} 1`,
        ),
      );
    },
  );

  test("a new key: unchanged Secrets are written with it when they are replaced", async () => {
    const file = newFile();
    writeConfig(file, [IDENTITY]);
    await using server = await start(file);
    const made = await makeSecret(server, "a");
    const replace = async (): Promise<string> => {
      const { json } = await ask(server, `${SECRETS}/a`);
      const { code, json: after } = await ask(server, `${SECRETS}/a`, "PUT", json);
      assert.equal(code, 200);
      assert.equal(after.metadata.uid, made.metadata.uid);
      return after.metadata.resourceVersion;
    };
    assert.equal(await replace(), made.metadata.resourceVersion, "nothing to write");
    await server.restart(async () => writeConfig(file, [keyed("aesgcm", 0), IDENTITY]));
    const encrypted = await replace();
    assert.notEqual(encrypted, made.metadata.resourceVersion);
    assert.equal(await replace(), encrypted, "nothing to write");
    await server.restart(async () => {
      assert.match(await stored(server, "secrets/default/a"), /^k8s:enc:aesgcm:v1:key1:/);
      writeConfig(file, [keyed("secretbox", 1), keyed("aesgcm", 0)]);
    });
    await replace();
    await server.restart(async () => {
      assert.match(await stored(server, "secrets/default/a"), /^k8s:enc:secretbox:v1:key2:/);
      writeConfig(file, [keyed("secretbox", 1)]);
    });
    assert.equal((await ask(server, `${SECRETS}/a`)).code, 200);
  });

  test("a Secret whose key is gone: 500 for it and its list, nothing else is touched", async () => {
    const file = newFile();
    writeConfig(file, [keyed("aescbc", 0)]);
    await using server = await start(file);
    await makeSecret(server, "a");
    await server.restart(async () => writeConfig(file, [keyed("aescbc", 1), IDENTITY]));
    const got = await ask(server, `${SECRETS}/a`);
    const noKey = "no matching key was found for the provided AES transformer";
    assert.deepEqual([got.code, got.json.message], [500, `Internal error occurred: ${noKey}`]);
    const cached = await ask(server, `${SECRETS}/a?resourceVersion=0`);
    assert.equal(cached.code, 500);
    for (const path of [SECRETS, "/api/v1/secrets?resourceVersion=0", `${SECRETS}?watch=1`]) {
      const { code, json } = await ask(server, path);
      const message = `Internal error occurred: unable to transform key "/registry/secrets/default/a": ${noKey}`;
      assert.deepEqual([path, code, json.message], [path, 500, message]);
    }
    const removed = await ask(server, `${SECRETS}/a`, "DELETE");
    assert.equal(removed.code, 500);
    const again = await ask(server, SECRETS, "POST", { metadata: { name: "a" } });
    assert.equal(again.code, 409);
    assert.equal((await ask(server, "/api/v1/namespaces/kube-system/secrets")).code, 200);
    assert.equal((await ask(server, "/api/v1/configmaps")).code, 200);
  });

  test("without the flag encrypted Secrets are not taken for plain ones", async () => {
    const file = newFile();
    writeConfig(file, [keyed("aescbc", 0)]);
    await using server = await start(file);
    await makeSecret(server, "a");
    await server.restart(async () => writeConfig(file, [keyed("aescbc", 0)], "[configmaps]"));
    const { code, json } = await ask(server, `${SECRETS}/a`);
    assert.deepEqual(
      [code, json.message],
      [500, "Internal error occurred: identity transformer tried to read encrypted data"],
    );
  });

  test("an invalid encryption configuration stops the start, and the error does not disclose its keys", async () => {
    const file = newFile();
    writeConfig(file, [keyed("aescbc", 0), "{aesgcm: {keys: [{name: a, secret: abc}]}}"]);
    await assert.rejects(
      start(file),
      /^Error: error while parsing file: resources\[0\].providers\[1\].aesgcm.keys\[0\].secret: Invalid value: "REDACTED": secrets must be base64 encoded$/,
    );
  });

  test("automatic reload: a good file takes effect, a bad one does not", async () => {
    const file = newFile();
    writeConfig(file, [IDENTITY]);
    await using server = await start(file, "--encryption-provider-config-automatic-reload");
    const reloads = async (status: string): Promise<boolean> => {
      const { text } = await ask(server, "/metrics");
      return text.includes(
        `apiserver_encryption_config_controller_automatic_reloads_total{status="${status}",`,
      );
    };
    writeConfig(file, [keyed("secretbox", 0), IDENTITY]);
    await eventually(() => reloads("success"));
    await makeSecret(server, "a");
    writeFileSync(file, "nonsense");
    await eventually(() => reloads("failure"));
    await makeSecret(server, "b");
    const { text } = await ask(server, "/readyz?verbose");
    assert.match(text, /\[\+\]kms-providers ok/);
    assert.match(text, /\[\+\]poststarthook\/start-encryption-provider-config-automatic-reload ok/);
    assert.doesNotMatch((await ask(server, "/livez?verbose")).text, /kms-providers/);
    await server.restart(async () => {
      for (const name of ["a", "b"]) {
        assert.match(
          await stored(server, `secrets/default/${name}`),
          /^k8s:enc:secretbox:v1:key1:/,
        );
      }
      writeConfig(file, [keyed("secretbox", 0)]);
    });
    assert.equal((await ask(server, `${SECRETS}/a`)).code, 200);
  });

  test("KMS v2: a plugin that is away makes Secrets unreadable until it comes back", async () => {
    const file = newFile();
    const socket = join(folder, "kms.sock");
    writeConfig(file, [
      `{kms: {apiVersion: v2, name: mock, endpoint: "unix://${socket}", timeout: 500ms}}`,
    ]);
    const keys = new Map();
    let plugin = await startKmsPlugin(socket, keys);
    await using server = await start(file);
    await makeSecret(server, "a");
    assert.equal((await ask(server, "/healthz/kms-providers")).code, 200);
    await server.restart(async () => {
      assert.match(await stored(server, "secrets/default/a"), /^k8s:enc:kms:v2:mock:\n/);
      await plugin[Symbol.asyncDispose]();
    });
    assert.equal((await ask(server, "/readyz")).code, 500);
    assert.equal((await ask(server, `${SECRETS}/a`)).code, 500);
    assert.equal((await ask(server, SECRETS)).code, 500);
    const refused = await ask(server, SECRETS, "POST", { metadata: { name: "b" } });
    assert.deepEqual(
      [refused.code, refused.json.message],
      [500, "Internal error occurred: got unexpected nil transformer"],
    );
    plugin = await startKmsPlugin(socket, keys);
    try {
      await eventually(async () => (await ask(server, "/readyz")).code === 200);
      const list = await ask(server, SECRETS);
      assert.deepEqual([list.code, list.json.items.length], [200, 1]);
      await makeSecret(server, "b");
    } finally {
      await plugin[Symbol.asyncDispose]();
    }
  });

  const missing = missingProgram("etcd");
  test.skipIf(missing !== undefined)(
    "on etcd: everything with *.*, also the server's own records",
    async () => {
      await using etcd = await startEtcd();
      const file = newFile();
      writeConfig(file, [keyed("aesgcm", 0)], "['*.*']");
      await using server = await start(file, "--etcd-servers", etcd.endpoints.join(","));
      await makeSecret(server, "a");
      await using store = await openWhenReady(etcd.endpoints);
      const { entries } = await store.range("/registry/");
      const plain = entries.filter(
        ({ value }) => !Buffer.from(value).toString("latin1").startsWith("k8s:enc:aesgcm:v1:key1:"),
      );
      assert.deepEqual(
        plain.map(({ key }) => key).filter((key) => !OWN_KEYS.test(key)),
        [],
      );
      assert.ok(entries.length > 100);
      assert.equal((await ask(server, `${SECRETS}/a`)).code, 200);
    },
  );
});

/** Not objects, and written past the storage layer by upstream, too. */
const OWN_KEYS = /^(compact_rev_key|\/registry\/health)/;

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + 20_000;
  while (!(await holds())) {
    assert.ok(performance.now() < endMs, "it did not happen in time");
    await sleep(100);
  }
}
