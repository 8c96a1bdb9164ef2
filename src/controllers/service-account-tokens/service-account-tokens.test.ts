import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Secret } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { legacyTokenCleaner } from "./cleaner.ts";
import { serviceAccountTokens } from "./tokens.ts";

const AT = "2030-01-01T00:00:00Z";
const DAY_MS = 86_400_000;
const UNUSED_MS = 2 * DAY_MS;
const tokens = serviceAccountTokens({
  rootCa: "CA",
  sign: (claims) => Object.values(claims).join(" "),
});

function secret(annotations: Readonly<Record<string, string>> = {}): Draft<Secret> {
  return {
    metadata: {
      name: "robot-token",
      creationTimestamp: AT,
      annotations: { "kubernetes.io/service-account.name": "robot", ...annotations },
    },
    type: "kubernetes.io/service-account-token",
  };
}

const get = (cluster: Cluster) => cluster.get(secretKind, "robot-token");

describe("service account tokens", () => {
  test("a Secret is filled, and filled again when something is taken from it", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [tokens] });
    const account = await cluster.seed(serviceAccountKind, { metadata: { name: "robot" } });
    await cluster.seed(secretKind, secret());
    const { uid } = account.metadata;
    const texts = () =>
      Object.fromEntries(Object.entries(get(cluster)?.data ?? {}).map(([k, v]) => [k, atob(v)]));
    const want = {
      "ca.crt": "CA",
      namespace: "default",
      token: `kubernetes/serviceaccount default robot-token robot ${uid} system:serviceaccount:default:robot`,
    };
    assert.deepEqual(texts(), want);
    assert.equal(get(cluster)?.metadata.annotations?.["kubernetes.io/service-account.uid"], uid);
    await cluster.edit(secretKind, "robot-token", (s) => void (s.data = { "ca.crt": btoa("old") }));
    assert.deepEqual(texts(), want);
  });

  test("without its account, or with another of the same name, it is deleted", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [tokens] });
    await cluster.seed(secretKind, secret());
    assert.equal(get(cluster), undefined);
    await cluster.seed(serviceAccountKind, { metadata: { name: "robot" } });
    await cluster.seed(secretKind, secret({ "kubernetes.io/service-account.uid": "other" }));
    assert.equal(get(cluster), undefined);
    await cluster.seed(secretKind, secret());
    assert.ok(get(cluster) !== undefined);
    await cluster.client.delete(serviceAccountKind, { namespace: "default", name: "robot" });
    await cluster.settle();
    assert.equal(get(cluster), undefined);
  });

  test("an account forgets a Secret that is gone", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [tokens] });
    await cluster.seed(serviceAccountKind, {
      metadata: { name: "robot" },
      secrets: [{ name: "robot-token" }, { name: "other" }],
    });
    await cluster.seed(secretKind, secret());
    await cluster.client.delete(secretKind, { namespace: "default", name: "robot-token" });
    await cluster.settle();
    assert.deepEqual(cluster.get(serviceAccountKind, "robot")?.secrets, [{ name: "other" }]);
  });
});

describe("legacy token cleaner", () => {
  async function world(
    labels: Readonly<Record<string, string>> = {},
    referenced = true,
  ): Promise<Cluster> {
    const cluster = await startCluster({ at: AT, controllers: [legacyTokenCleaner(UNUSED_MS)] });
    await cluster.seed(configMapKind, {
      metadata: {
        name: "kube-apiserver-legacy-service-account-token-tracking",
        namespace: "kube-system",
      },
      data: { since: "2030-01-01" },
    });
    await cluster.seed(serviceAccountKind, {
      metadata: { name: "robot" },
      secrets: referenced ? [{ name: "robot-token" }] : [],
    });
    const draft = secret();
    await cluster.seed(secretKind, { ...draft, metadata: { ...draft.metadata, labels } });
    return cluster;
  }
  const invalid = "kubernetes.io/legacy-token-invalid-since";

  test("unused for too long it is invalid, as long again later gone", async () => {
    await using cluster = await world();
    await cluster.advance(2 * DAY_MS);
    assert.equal(get(cluster)?.metadata.labels?.[invalid], undefined);
    await cluster.advance(DAY_MS);
    assert.equal(get(cluster)?.metadata.labels?.[invalid], "2030-01-04");
    await cluster.advance(2 * DAY_MS);
    assert.ok(get(cluster) !== undefined);
    await cluster.advance(DAY_MS);
    assert.equal(get(cluster), undefined);
  });

  test("one that is used, mounted, or made by hand stays", async () => {
    const used = await world({ "kubernetes.io/legacy-token-last-used": "2030-01-03" });
    const manual = await world({}, false);
    const mounted = await world();
    await mounted.seed(podKind, {
      metadata: { name: "p" },
      spec: {
        containers: [{ name: "c", image: "i" }],
        volumes: [{ name: "t", secret: { secretName: "robot-token" } }],
      },
    });
    for (const cluster of [used, manual, mounted]) {
      await cluster.advance(4 * DAY_MS);
      assert.equal(get(cluster)?.metadata.labels?.[invalid], undefined);
      await cluster[Symbol.asyncDispose]();
    }
  });
});
