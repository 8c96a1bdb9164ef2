import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { connectionFromFile, connectionInCluster } from "./kubeconfig.ts";

const folder = mkdtempSync(join(tmpdir(), "k8ts-kubeconfig-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PEM = "-----BEGIN X-----";
const V1 = "client.authentication.k8s.io/v1";

function kubeconfig(user: object, cluster: object = {}): string {
  const path = join(folder, "config");
  const config = {
    "current-context": "here",
    clusters: [{ name: "c", cluster: { server: "https://h:6443/", ...cluster } }],
    contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
    users: [{ name: "u", user }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

/** A program that answers with this and writes down how it was asked. */
function program(answer: object, script = ""): object {
  const code = `
    const fs = require("fs");
    fs.appendFileSync(${JSON.stringify(join(folder, "calls"))}, process.env.KUBERNETES_EXEC_INFO + " " + process.env.EXTRA + "\\n");
    ${script}
    process.stdout.write(${JSON.stringify(JSON.stringify({ apiVersion: V1, ...answer }))});`;
  return {
    apiVersion: V1,
    command: process.execPath,
    args: ["-e", code],
    env: [{ name: "EXTRA", value: "more" }],
    installHint: "get it",
  };
}

describe("kubeconfig", () => {
  test("files are found beside it, data wins over files, tokens are read again", async () => {
    writeFileSync(join(folder, "ca.pem"), PEM);
    writeFileSync(join(folder, "token"), "first\n");
    const data = Buffer.from("inline").toString("base64");
    const user = { tokenFile: "token", "client-key": "ca.pem", "client-key-data": data };
    const path = kubeconfig(user, { "certificate-authority": "ca.pem", "tls-server-name": "n" });
    const connection = connectionFromFile(path);
    const { server, ca, clientKey, serverName } = connection;
    assert.deepEqual(
      { server, ca, clientKey, serverName },
      { server: "https://h:6443", ca: PEM, clientKey: "inline", serverName: "n" },
    );
    assert.equal(await connection.token?.(), "first");
    writeFileSync(join(folder, "token"), "second\n");
    assert.equal(await connection.token?.(), "second");
  });

  const faults: { name: string; change: (text: string) => string; want: RegExp }[] = [
    { name: "no context", change: (t) => t.replace("here", ""), want: /no current-context is set/ },
    {
      name: "another context",
      change: (t) => t.replace("here", "x"),
      want: /context "x" does not exist/,
    },
    {
      name: "another cluster",
      change: (t) => t.replace('"cluster":"c"', '"cluster":"x"'),
      want: /cluster "x" does not exist/,
    },
    { name: "no YAML", change: () => "a: [", want: /cannot read kubeconfig/ },
  ];
  for (const { name, change, want } of faults) {
    test(`refused: ${name}`, () => {
      const path = kubeconfig({});
      const text = JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")) });
      writeFileSync(path, change(text));
      assert.throws(() => connectionFromFile(path), want);
    });
  }

  test("inside a pod", () => {
    assert.throws(() => connectionInCluster({}), /not in a cluster/);
    const environment = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
    writeFileSync(join(folder, "ca.crt"), PEM);
    writeFileSync(join(folder, "token"), "t");
    const connection = connectionInCluster(environment, folder);
    assert.deepEqual([connection.server, connection.ca], ["https://[fd00::1]:443", PEM]);
    assert.equal(connection.token?.(), "t");
  });
});

describe("kubeconfig: credentials from a program", () => {
  test("asked once, again when they expire, and again after a refusal", async () => {
    const clock = new VirtualClock("2030-01-01T00:00:00Z");
    const status = { token: "secret", expirationTimestamp: "2030-01-01T01:00:00Z" };
    const exec = { ...program({ status }), provideClusterInfo: true };
    const { credentials } = connectionFromFile(kubeconfig({ exec }), { clock });
    const calls = (): readonly string[] =>
      readFileSync(join(folder, "calls"), "utf8").trim().split("\n");
    assert.deepEqual(await credentials?.get(), { token: "secret" });
    assert.deepEqual(await credentials?.get(), { token: "secret" });
    assert.deepEqual(calls(), [
      `{"kind":"ExecCredential","apiVersion":"${V1}","spec":{"interactive":false,"cluster":{"server":"https://h:6443"}}} more`,
    ]);
    await clock.advance(3_600_000);
    await credentials?.get();
    assert.equal(calls().length, 2);
    credentials?.forget();
    await credentials?.get();
    await credentials?.get();
    assert.equal(calls().length, 4); // what it said has expired by now
    rmSync(join(folder, "calls"));
  });

  test("a certificate and its key", async () => {
    const status = { clientCertificateData: "cert", clientKeyData: "key" };
    const { credentials } = connectionFromFile(kubeconfig({ exec: program({ status }) }));
    const want = { certificate: { certPem: "cert", keyPem: "key" } };
    assert.deepEqual(await credentials?.get(), want);
  });

  const bad: { name: string; exec: object; want: RegExp }[] = [
    { name: "no status", exec: program({}), want: /didn't return a status field/ },
    {
      name: "nothing in it",
      exec: program({ status: {} }),
      want: /didn't return a token or cert\/key pair/,
    },
    {
      name: "half a pair",
      exec: program({ status: { clientKeyData: "k" } }),
      want: /only certificate or key, not both/,
    },
    {
      name: "another version",
      exec: program({ apiVersion: "v9" }),
      want: /configured to use API version .*\/v1, plugin returned version v9/,
    },
    {
      name: "it fails",
      exec: program({}, "process.exit(3);"),
      want: /getting credentials: exec: executable .* failed/,
    },
    {
      name: "it is not there",
      exec: { apiVersion: V1, command: "no-such-program", installHint: "get it" },
      want: /executable no-such-program not found\n\nget it/,
    },
  ];
  for (const { name, exec, want } of bad) {
    test(`refused: ${name}`, async () => {
      const { credentials } = connectionFromFile(kubeconfig({ exec }));
      await assert.rejects(async () => credentials?.get(), want);
    });
  }

  test("what can never work is refused at once", () => {
    const of = (exec: object) => () => connectionFromFile(kubeconfig({ exec }));
    assert.throws(of({ command: "x" }), /invalid apiVersion/);
    const interactive = { apiVersion: V1, command: "x", interactiveMode: "Always" };
    assert.throws(of(interactive), /standard input is not a terminal/);
  });
});
