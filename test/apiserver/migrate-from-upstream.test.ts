/**
 * Live migration from upstream by sharing its etcd: values that kube-apiserver v1.36.4 wrote into etcd
 * (protobuf in its envelope; custom resources and their definitions as JSON, the latter in v1beta1) are
 * served as it served them, and can be changed.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test, vi } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { startEtcd } from "../store/etcd-cluster.ts";
import { openWhenReady } from "../store/open-etcd.ts";
import { askHttps, type HttpsAsk } from "./https-ask.ts";
import { startTestServer } from "./test-server.ts";

const missing = missingProgram("etcd");
const TOKENS = 'tok,admin,1,"system:masters"\n';
const DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/web";

interface Recorded {
  /** What GET answered, by path. */
  readonly served: Readonly<Record<string, { metadata: Record<string, unknown> }>>;
  /** Values in etcd, by key, in base64. */
  readonly stored: Readonly<Record<string, string>>;
}

const RECORDED = new URL("./upstream-stored.json", import.meta.url);

describe.skipIf(missing !== undefined)(`upstream's etcd${missing ? ` (${missing})` : ""}`, () => {
  test("values that upstream's kube-apiserver stored are served as it serves them, and can be changed", async () => {
    const { served, stored } = JSON.parse(readFileSync(RECORDED, "utf8")) as Recorded;
    const values = Object.values(stored).map((text) => Buffer.from(text, "base64"));
    assert.ok(values.filter((bytes) => bytes.toString("latin1", 0, 4) === "k8s\0").length >= 4);
    await using etcd = await startEtcd();
    {
      await using store = await openWhenReady(etcd.endpoints);
      for (const [key, text] of Object.entries(stored)) {
        await store.put(key, Buffer.from(text, "base64"));
      }
    }
    await using server = await startTestServer({
      tokens: TOKENS,
      flags: ["--etcd-servers", etcd.endpoints.join(",")],
    });
    const ask = (request: HttpsAsk) => askHttps(server, { ...request, token: "tok" });
    for (const [path, object] of Object.entries(served)) {
      await vi.waitFor(async () => assert.equal((await ask({ path })).code, 200, path), {
        timeout: 30_000,
      });
      const { json } = await ask({ path });
      assert.deepEqual(unnumbered(json), unnumbered(object), path);
    }
    const scaled = await ask({
      ...{ method: "PATCH", path: DEPLOYMENT, body: { spec: { replicas: 5 } } },
      headers: { "content-type": "application/merge-patch+json" },
    });
    assert.deepEqual([scaled.code, scaled.json.spec.replicas], [200, 5]);
    assert.equal(scaled.json.metadata.uid, served[DEPLOYMENT]?.metadata.uid);
  }, 60_000);
});

function unnumbered(object: { metadata: Record<string, unknown> }): object {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
