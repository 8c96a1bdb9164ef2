import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Namespace } from "#api/generated/core.v1.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { build } from "#testing/build.ts";
import { startCluster } from "#testing/cluster.ts";
import { describeOutcome } from "#testing/decisions.ts";
import { serviceAccountController } from "./service-account.ts";

const namespace = (phase: string, isGoing = false): Namespace =>
  build(namespaceKind, {
    metadata: { name: "shop", ...(isGoing ? { deletionTimestamp: "2030-01-01T00:00:00Z" } : {}) },
    status: { phase },
  });
const account = build(serviceAccountKind, { metadata: { name: "default", namespace: "shop" } });

const rows = [
  {
    name: "a namespace that has it is left alone",
    state: { namespace: namespace("Active"), account },
    want: [],
  },
  {
    name: "a namespace without it gets it",
    state: { namespace: namespace("Active"), account: undefined },
    want: ["create ServiceAccount default"],
  },
  {
    name: "a terminating namespace gets none",
    state: { namespace: namespace("Terminating"), account: undefined },
    want: [],
  },
  {
    name: "a namespace that is being deleted gets none",
    state: { namespace: namespace("Active", true), account: undefined },
    want: [],
  },
  {
    name: "a namespace that is gone needs nothing",
    state: { namespace: undefined, account },
    want: [],
  },
];

describe("ServiceAccount default of a namespace", () => {
  for (const { name, state, want } of rows) {
    test(name, () => {
      assert.deepEqual(describeOutcome(serviceAccountController.decide(state, 0)), {
        writes: want,
      });
    });
  }

  test("in a cluster it is there at once, and there again when it is deleted", async () => {
    await using cluster = await startCluster({ controllers: [serviceAccountController] });
    await cluster.seed(namespaceKind, { metadata: { name: "shop" } });
    const key = { namespace: "shop", name: "default" };
    const first = cluster.get(serviceAccountKind, "default", "shop")?.metadata.uid;
    assert.ok(first !== undefined);
    await cluster.client.delete(serviceAccountKind, key);
    await cluster.settle();
    const second = cluster.get(serviceAccountKind, "default", "shop")?.metadata.uid;
    assert.ok(second !== undefined && second !== first);
  });
});
