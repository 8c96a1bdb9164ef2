import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { configMapKind } from "#api/core/v1/config-map.ts";
import { namespaceKind } from "#api/core/v1/namespace.ts";
import { serviceAccountKind } from "#api/core/v1/service-account.ts";
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
});
