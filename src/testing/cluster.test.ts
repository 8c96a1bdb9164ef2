import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { namespaceController } from "#controllers/namespace.ts";
import { rootCaCertPublisher } from "#controllers/root-ca-cert-publisher.ts";
import { serviceAccountController } from "#controllers/service-account.ts";
import { startCluster } from "./cluster.ts";

describe("in-process cluster", () => {
  test("a namespace gets its default account and root certificate, again when they are deleted", async () => {
    await using cluster = await startCluster({
      controllers: [serviceAccountController, rootCaCertPublisher("the ca")],
    });
    await cluster.seed(namespaceKind, { metadata: { name: "shop" } });
    assert.deepEqual(cluster.names(serviceAccountKind, "shop"), ["default"]);
    assert.deepEqual(cluster.get(configMapKind, "kube-root-ca.crt", "shop")?.data, {
      "ca.crt": "the ca",
    });
    await cluster.client.delete(serviceAccountKind, { namespace: "shop", name: "default" });
    await cluster.settle();
    assert.deepEqual(cluster.names(serviceAccountKind, "shop"), ["default"]);
    await cluster.edit(
      configMapKind,
      "kube-root-ca.crt",
      (map) => void (map.data = { "ca.crt": "forged" }),
      "shop",
    );
    assert.deepEqual(cluster.get(configMapKind, "kube-root-ca.crt", "shop")?.data, {
      "ca.crt": "the ca",
    });
  });

  test("a deleted namespace is emptied and goes", async () => {
    await using cluster = await startCluster({ controllers: [namespaceController] });
    await cluster.seed(namespaceKind, {
      metadata: { name: "shop" },
      spec: { finalizers: ["kubernetes"] },
    });
    await cluster.seed(configMapKind, { metadata: { name: "a", namespace: "shop" } });
    await cluster.seed(configMapKind, {
      metadata: { name: "b", namespace: "shop", finalizers: ["example.com/hold"] },
    });
    await cluster.client.delete(namespaceKind, { name: "shop" });
    await cluster.advance(20_000);
    assert.deepEqual(cluster.names(configMapKind, "shop"), ["b"]);
    const remaining = cluster
      .get(namespaceKind, "shop")
      ?.status.conditions?.filter(({ status }) => status === "True")
      .map(({ type, message }) => `${type}: ${message}`);
    assert.deepEqual(remaining, [
      "NamespaceContentRemaining: Some resources are remaining: configmaps. has 1 resource instances",
      "NamespaceFinalizersRemaining: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
    ]);
    const b = { namespace: "shop", name: "b" };
    await cluster.client.patch(configMapKind, b, "merge", { metadata: { finalizers: null } });
    await cluster.advance(20_000);
    assert.deepEqual(cluster.names(namespaceKind), []);
  });
});
