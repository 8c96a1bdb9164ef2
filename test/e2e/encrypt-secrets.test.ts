/** `k8ts up --encrypt-secrets` with the built program: what lies in its store when it is on, kept, and off. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { buildProgram, startProgram } from "../built-program.ts";

const ENCRYPTED = /^k8s:enc:secretbox:v1:key1:/;

describe("k8ts up --encrypt-secrets", () => {
  const data = mkdtempSync(join(tmpdir(), "k8ts-secrets-"));
  beforeAll(() => buildProgram(), 60_000);
  afterAll(() => rmSync(data, { recursive: true, force: true }));

  test("encrypts what is there, goes on without the flag, and can be switched off", async () => {
    await run([], (client) => create(client, "before"));
    assert.match(await stored("before"), /^\{"kind":"Secret"/);

    await run(["--encrypt-secrets"], (client) => create(client, "on"));
    assert.match(await stored("before"), ENCRYPTED, "was written again");
    assert.match(await stored("on"), ENCRYPTED);
    assert.equal(statSync(join(data, "pki", "encryption.yaml")).mode & 0o777, 0o600);

    await run([], async (client) => {
      const read = await client.get(secretKind, { namespace: "default", name: "before" });
      assert.ok(read.ok, JSON.stringify(read));
      assert.equal(Buffer.from(read.value.data?.word ?? "", "base64").toString(), "x");
      await create(client, "kept");
    });
    assert.match(await stored("kept"), ENCRYPTED);

    await run(["--encrypt-secrets=false"], (client) => create(client, "off"));
    for (const name of ["before", "on", "kept", "off"]) {
      assert.match(await stored(name), /^\{"kind":"Secret"/, name);
    }
  }, 120_000);

  async function run(flags: string[], use: (client: Client) => Promise<void>): Promise<void> {
    const args = ["up", "--foreground", "--no-node", "--data", data, "--port", "0", ...flags];
    await using up = startProgram(args);
    await up.says(/KUBECONFIG/);
    {
      using transport = new HttpsTransport(connectionFromFile(join(data, "kubeconfig")), "test");
      await use(
        new Client({ transport, clock: systemClock, random: systemRandom, fieldManager: "test" }),
      );
    }
    assert.equal(await up.end("SIGTERM"), 0, up.output());
  }

  async function create(client: Client, name: string): Promise<void> {
    const secret = { metadata: { namespace: "default", name }, stringData: { word: "x" } };
    const made = await client.create(secretKind, secret);
    assert.ok(made.ok, JSON.stringify(made));
  }

  async function stored(name: string): Promise<string> {
    await using store = await openEmbeddedStore({
      directory: join(data, "store"),
      clock: systemClock,
    });
    const { entry } = await store.get(`/registry/secrets/default/${name}`);
    return Buffer.from(entry!.value).toString("latin1");
  }
});
