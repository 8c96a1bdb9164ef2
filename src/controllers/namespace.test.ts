import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ConfigMap, Namespace, Pod } from "#api/generated/core.v1.ts";
import type { Kind, KubeObject } from "#api/kind.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeoutStatus } from "#api/meta/status.ts";
import type { Reader, Resource } from "#runtime/controller.ts";
import { build } from "#testing/build.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { describeOutcome, type OutcomeText, written } from "#testing/decisions.ts";
import { type NamespaceState, namespaceController } from "./namespace.ts";
import type { Content } from "./namespace-content.ts";

const AT = "2030-01-01T00:00:00Z";
const CONTAINER = { containers: [{ name: "c", image: "i" }] };

function namespace(finalizers: readonly string[] = ["kubernetes"]): Namespace {
  return build(namespaceKind, {
    metadata: { name: "shop", deletionTimestamp: AT },
    spec: { finalizers },
    status: { phase: "Terminating" },
  });
}

function content(kind: Kind, ...objects: readonly Partial<KubeObject["metadata"]>[]): Content {
  const resource: Resource = { ...kind, verbs: ["list", "delete"] };
  return {
    resource,
    objects: objects.map((metadata, i) => ({ metadata: { name: `o${i}`, ...metadata } })),
  };
}

const rows: {
  name: string;
  state: Partial<NamespaceState>;
  want: OutcomeText;
  true?: Readonly<Record<string, string>>;
}[] = [
  {
    name: "an empty namespace is finalized",
    state: {},
    want: { writes: ["update Namespace shop/finalize"] },
  },
  {
    name: "with finalizers of others it reports that its content is deleted",
    state: { namespace: namespace(["kubernetes", "example.com/x"]) },
    want: { writes: ["update Namespace shop/status"] },
  },
  {
    name: "others' finalizers are theirs",
    state: { namespace: namespace(["example.com/x"]) },
    want: { writes: [] },
  },
  {
    name: "pods are deleted first",
    state: { content: [content(podKind, {}), content(configMapKind, {}, {})] },
    want: { writes: ["update Namespace shop/status", "delete all pods"], recheckInMs: 100 },
    true: {
      NamespaceContentRemaining:
        "Some resources are remaining: configmaps. has 2 resource instances, pods. has 1 resource instances",
    },
  },
  {
    name: "all other resources are deleted at once",
    state: { content: [content(secretKind, {}), content(configMapKind, {})] },
    want: {
      writes: ["update Namespace shop/status", "delete all secrets", "delete all configmaps"],
      recheckInMs: 100,
    },
  },
  {
    name: "pods that are going are waited for as long as their grace lasts",
    state: { content: [content(podKind, { deletionTimestamp: "2030-01-01T00:00:08Z" })] },
    want: { writes: ["update Namespace shop/status"], recheckInMs: 8_000 },
  },
  {
    name: "finalizers that hold content are named",
    state: {
      content: [
        content(configMapKind, { deletionTimestamp: AT, finalizers: ["example.com/hold"] }),
      ],
    },
    want: { writes: ["update Namespace shop/status"], recheckInMs: 15_000 },
    true: {
      NamespaceContentRemaining:
        "Some resources are remaining: configmaps. has 1 resource instances",
      NamespaceFinalizersRemaining:
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
    },
  },
  {
    name: "what cannot be found out or listed keeps it",
    state: { undiscovered: ["x/v1: gone"], unlisted: ["no"] },
    want: { writes: ["update Namespace shop/status"], recheckInMs: 15_000 },
    true: {
      NamespaceDeletionDiscoveryFailure:
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: x/v1: gone",
      NamespaceDeletionContentFailure: "Failed to delete all resource types, 1 remaining: no",
    },
  },
];

describe("a namespace that is being deleted", () => {
  for (const { name, state, want, true: holds } of rows) {
    test(name, () => {
      const whole = {
        namespace: namespace(),
        content: [],
        undiscovered: [],
        unlisted: [],
        ...state,
      };
      const outcome = namespaceController.decide(whole, Date.parse(AT));
      assert.deepEqual(describeOutcome(outcome), want);
      if (holds === undefined) return;
      const conditions = written(outcome, namespaceKind)?.status.conditions ?? [];
      assert.deepEqual(
        Object.fromEntries(
          conditions.filter((c) => c.status === "True").map((c) => [c.type, c.message]),
        ),
        holds,
      );
    });
  }

  test("in a cluster it empties itself, is held by a finalizer for hours, and goes when that goes", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [namespaceController] });
    await cluster.client.create(namespaceKind, { metadata: { name: "shop" } } as Namespace);
    await map(cluster, "free", []);
    await map(cluster, "held", ["example.com/hold"]);
    await cluster.client.delete(namespaceKind, { name: "shop" });
    await cluster.advance(3 * 3_600_000); // it looks four times a minute
    assert.deepEqual(cluster.names(configMapKind, "shop"), ["held"]);
    const held = cluster.get(namespaceKind, "shop")?.status;
    assert.equal(held?.phase, "Terminating");
    assert.deepEqual(
      held?.conditions?.filter((c) => c.status === "True").map((c) => c.reason),
      ["SomeResourcesRemain", "SomeFinalizersRemain"],
    );
    await cluster.edit(configMapKind, "held", (m) => void delete m.metadata.finalizers, "shop");
    await cluster.client.delete(configMapKind, { namespace: "shop", name: "held" });
    await cluster.advance(15_000);
    assert.equal(cluster.get(namespaceKind, "shop"), undefined);
  });
});

test("a namespace that others hold back ends as an empty one", async () => {
  await using cluster = await startCluster({ at: AT, controllers: [namespaceController] });
  const spec = { finalizers: ["kubernetes", "example.com/x"] };
  const shop = { metadata: { name: "shop" }, spec, status: {} };
  await cluster.client.create(namespaceKind, shop as Namespace);
  await map(cluster, "free", []);
  await cluster.client.delete(namespaceKind, { name: "shop" });
  await cluster.advance(15_000);
  const left = cluster.get(namespaceKind, "shop");
  assert.deepEqual(left?.spec.finalizers, ["example.com/x"]);
  assert.deepEqual(new Set(left?.status.conditions?.map((c) => c.status)), new Set(["False"]));
});

test("a list that is not answered delays neither pods nor other content of the namespace, and keeps the namespace", async () => {
  let isHung = true;
  const controller: typeof namespaceController = {
    ...namespaceController,
    observe: (caches, key, reader, remembered, moment) => {
      const { get, watch, ask } = reader; // not used
      const raw: Reader["raw"] = (...asked) => reader.raw(...asked);
      const list: Reader["list"] = async (kind, options, signal) => {
        // 504 after --request-timeout, as the API server answers for an aggregated one that hangs
        if (isHung && kind.names.plural === "leases") {
          await moment.sleep(60_000, signal ?? moment.signal);
          return { ok: false, status: timeoutStatus("no answer") };
        }
        return reader.list(kind, options, signal);
      };
      const all = { get, list, watch, ask, raw };
      return namespaceController.observe(caches, key, all, remembered, moment);
    },
  };
  await using cluster = await startCluster({ at: AT, controllers: [controller] });
  const pass = (durationMs: number) => cluster.clock.advance(durationMs);
  const reasons = () =>
    cluster
      .get(namespaceKind, "shop")
      ?.status.conditions?.filter((c) => c.status === "True")
      .map((c) => c.reason);
  await cluster.client.create(namespaceKind, { metadata: { name: "shop" } } as Namespace);
  const pod = { metadata: { name: "p", namespace: "shop" }, spec: CONTAINER, status: {} };
  await cluster.client.create(podKind, pod as unknown as Pod);
  await map(cluster, "free", []);
  await map(cluster, "held", ["example.com/hold"]);
  await cluster.client.delete(namespaceKind, { name: "shop" });

  await pass(3_000);
  assert.deepEqual(cluster.names(podKind, "shop"), []);
  await pass(3_000);
  assert.deepEqual(cluster.names(configMapKind, "shop"), ["held"]);
  assert.deepEqual(reasons(), [
    "ContentDeletionFailed",
    "SomeResourcesRemain",
    "SomeFinalizersRemain",
  ]);
  const held = { namespace: "shop", name: "held" };
  await cluster.client.patch(configMapKind, held, "merge", { metadata: { finalizers: null } });
  await pass(200_000);
  assert.deepEqual(reasons(), ["ContentDeletionFailed"]);

  isHung = false;
  await pass(80_000);
  assert.equal(cluster.get(namespaceKind, "shop"), undefined);
});

async function map(cluster: Cluster, name: string, finalizers: readonly string[]): Promise<void> {
  const metadata = { name, namespace: "shop", finalizers };
  await cluster.client.create(configMapKind, { metadata } as ConfigMap);
}
