import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ConfigMap, Namespace } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { build } from "#testing/build.ts";
import { startCluster } from "#testing/cluster.ts";
import { describeOutcome, written } from "#testing/decisions.ts";
import { rootCaCertPublisher } from "./root-ca-cert-publisher.ts";

const NAME = "kube-root-ca.crt";
const controller = rootCaCertPublisher("CA");
const namespace = (phase: string): Namespace =>
  build(namespaceKind, { metadata: { name: "shop" }, status: { phase } });
const right = written(
  controller.decide({ namespace: namespace("Active"), published: undefined }, 0),
  configMapKind,
)!;
const map = (data: Readonly<Record<string, string>>, annotations = right.metadata.annotations) =>
  build(configMapKind, {
    metadata: { name: NAME, namespace: "shop", ...(annotations ? { annotations } : {}) },
    data,
  });

const rows: { name: string; phase?: string; published?: ConfigMap; want: readonly string[] }[] = [
  { name: "a missing ConfigMap is created", want: [`create ConfigMap ${NAME}`] },
  { name: "a ConfigMap with the CA is left alone", published: map({ "ca.crt": "CA" }), want: [] },
  {
    name: "a ConfigMap with another CA is updated",
    published: map({ "ca.crt": "old" }),
    want: [`update ConfigMap ${NAME}`],
  },
  {
    name: "a ConfigMap with other keys is updated",
    published: map({ "ca.crt": "CA", x: "y" }),
    want: [`update ConfigMap ${NAME}`],
  },
  {
    name: "a ConfigMap without its annotation is updated",
    published: map({ "ca.crt": "CA" }, {}),
    want: [`update ConfigMap ${NAME}`],
  },
  { name: "a terminating namespace gets none", phase: "Terminating", want: [] },
];

describe("rootCaCertPublisher (ConfigMap kube-root-ca.crt)", () => {
  for (const { name, phase = "Active", published, want } of rows) {
    test(name, () => {
      const outcome = controller.decide({ namespace: namespace(phase), published }, 0);
      assert.deepEqual(describeOutcome(outcome), { writes: want });
    });
  }

  test("in a cluster it is published, and mended", async () => {
    await using cluster = await startCluster({ controllers: [controller] });
    await cluster.seed(namespaceKind, { metadata: { name: "shop" } });
    const data = () => cluster.get(configMapKind, NAME, "shop")?.data;
    assert.deepEqual(data(), { "ca.crt": "CA" });
    await cluster.edit(configMapKind, NAME, (m) => void (m.data = { "ca.crt": "no" }), "shop");
    assert.deepEqual(data(), { "ca.crt": "CA" });
    await cluster.client.delete(configMapKind, { namespace: "shop", name: NAME });
    await cluster.settle();
    assert.deepEqual(data(), { "ca.crt": "CA" });
  });
});
