import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { clusterRoleBindingKind } from "#api/kinds/rbac/v1/bindings.ts";
import { AccountTokens } from "#client/account-tokens.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { systemRandom } from "#lib/random.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import type { KeyPair } from "#pki/key-pair.ts";
import { startCluster } from "#testing/cluster.ts";
import { startComponentServer } from "./component-server.ts";
import { servingCertificate } from "./serving-certificate.ts";

test("--client-ca-file: its authorities count, and the published ones do not", async () => {
  await using cluster = await startCluster({ secured: true });
  const { client, clock } = cluster;
  const folder = mkdtempSync(join(tmpdir(), "k8ts-component-test-"));
  const life = new AbortController();
  try {
    const authority = openAuthority(join(folder, "ca"), "ca", Date.now());
    const stranger = openAuthority(join(folder, "stranger"), "ca", Date.now());
    const clientCaFile = join(folder, "clients.pem");
    writeFileSync(clientCaFile, authority.certificatePem);
    const tls = servingCertificate({ certFile: "", keyFile: "" }, "host", clock);
    const around = { metrics: new Metrics(), client, clock, random: systemRandom };
    const port = await startComponentServer(
      { host: "127.0.0.1", port: 0, tls, clientCaFile, ...around, logger: silentLogger },
      life.signal,
    );
    const subject = { commonName: "admin", organizations: ["system:masters"] };
    const codeWith = (of: typeof authority): Promise<number | undefined> => {
      const leaf = issueLeaf(of, { subject, purpose: "client auth" }, Date.now());
      const shown = { cert: leaf.certificatePem, key: leaf.keyPem, rejectUnauthorized: false };
      return new Promise((resolve, reject) => {
        const to = { host: "127.0.0.1", port, path: "/metrics", agent: false };
        const asked = request({ ...to, ...shown }, (answer) => resolve(answer.resume().statusCode));
        asked.on("error", reject);
        asked.end();
      });
    };
    assert.equal(await codeWith(authority), 200);
    assert.equal(await codeWith(stranger), 401);
  } finally {
    life.abort();
    rmSync(folder, { recursive: true });
  }
});

test("component server: /healthz is open to all, /metrics needs authorization", async () => {
  await using cluster = await startCluster({ secured: true });
  const { client, clock } = cluster;
  const random = systemRandom;
  const metrics = new Metrics();
  metrics.counter({ name: "things_total", help: "Things.", labels: [] })().add(3);
  const tls = servingCertificate({ certFile: "", keyFile: "" }, "host", clock);
  const life = new AbortController();
  let isSynced = false;
  const caches = { name: "caches", check: () => (isSynced ? undefined : "not filled") };
  const port = await startComponentServer(
    {
      ...{ host: "127.0.0.1", port: 0, tls, metrics, client, clock, random, logger: silentLogger },
      checks: { readyz: [caches] },
    },
    life.signal,
  );
  const get = (path: string, token?: string, certificate?: KeyPair): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const shown =
        certificate === undefined
          ? {}
          : { cert: certificate.certificatePem, key: certificate.keyPem };
      const to = { host: "127.0.0.1", port, path, headers, rejectUnauthorized: false };
      const options = { ...to, ...shown };
      const asked = request({ ...options, agent: false }, (answer) => {
        let text = "";
        answer.on("data", (chunk) => {
          text += chunk;
        });
        answer.on("end", () => resolve(`${answer.statusCode} ${text.split("\n")[0]}`));
      });
      asked.on("error", reject);
      asked.end();
    });
  for (const path of ["/healthz", "/livez"]) assert.equal(await get(path), "200 ok");
  assert.equal(await get("/livez?verbose"), "200 [+]ping ok");
  assert.equal(await get("/readyz"), "500 [-]caches failed: reason withheld");
  assert.equal(await get("/readyz?exclude=caches"), "200 ok");
  isSynced = true;
  assert.equal(await get("/readyz"), "200 ok");
  assert.equal(await get("/readyz/caches"), "401 Unauthorized");
  assert.equal(await get("/metrics"), "401 Unauthorized");
  assert.equal(await get("/metrics", "nonsense"), "401 Unauthorized");
  const metadata = { namespace: "default", name: "robot" };
  assert.ok((await client.create(serviceAccountKind, { metadata })).ok);
  const token = await new AccountTokens(client, clock).token("default", "robot");
  assert.equal(await get("/metrics", token), "403 Forbidden");
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "robot" },
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "system:monitoring",
    },
    subjects: [{ kind: "ServiceAccount", namespace: "default", name: "robot" }],
  };
  assert.ok((await client.create(clusterRoleBindingKind, binding)).ok);
  assert.equal(await get("/metrics", token), "200 # HELP things_total Things.");
  assert.equal(await get("/nothing", token), "403 Forbidden");
  const slis =
    "200 # HELP kubernetes_healthcheck The result of each health check, 1 if it is well.";
  assert.equal(await get("/metrics/slis", token), slis);

  const folder = mkdtempSync(join(tmpdir(), "k8ts-component-test-"));
  try {
    const authority = openAuthority(join(folder, "ca"), "ca", Date.now());
    const stranger = openAuthority(join(folder, "stranger"), "ca", Date.now());
    const certificate = (of: typeof authority, name: string, organizations: string[] = []) =>
      issueLeaf(
        of,
        { subject: { commonName: name, organizations }, purpose: "client auth" },
        Date.now(),
      );
    const published = await client.patch(
      configMapKind,
      { namespace: "kube-system", name: "extension-apiserver-authentication" },
      "merge",
      { data: { "client-ca-file": authority.certificatePem } },
    );
    assert.ok(published.ok);
    const admin = certificate(authority, "admin", ["system:masters"]);
    while ((await get("/metrics", undefined, admin)).startsWith("401")) await nextTurn();
    assert.equal(
      await get("/metrics", undefined, admin),
      "200 # HELP things_total Things.",
      "a client certificate of the published authority",
    );
    assert.equal(await get("/metrics", undefined, certificate(authority, "jane")), "403 Forbidden");
    const forged = certificate(stranger, "admin", ["system:masters"]);
    assert.equal(await get("/metrics", undefined, forged), "401 Unauthorized");
  } finally {
    rmSync(folder, { recursive: true });
  }
  life.abort();
});
