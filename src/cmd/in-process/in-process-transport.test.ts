import assert from "node:assert/strict";
import { test } from "vitest";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { clusterRoleKind } from "#api/kinds/rbac/v1/roles.ts";
import { answer } from "#apiserver/response/answer.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { TurnLimit } from "#lib/async/turn-limit.ts";
import { startCluster } from "#testing/cluster.ts";
import { inProcessTransport } from "./in-process-transport.ts";

test("in-process transport: a name with a colon (ClusterRole system:node) is found", async () => {
  await using cluster = await startCluster({ secured: true });
  const found = await cluster.client.get(clusterRoleKind, { name: "system:node" });
  assert.ok(found.ok, found.ok ? "" : found.status.message);
  assert.equal(found.value.metadata.name, "system:node");
});

test("in-process transport: answers that come together are handed over in several turns, those of Leases at once", async () => {
  const turns = { begins: new TurnLimit(100), answers: new TurnLimit(2) };
  const transport = inProcessTransport(
    async () => answer(200, { form: "value", value: {} }),
    { name: "admin", groups: [] },
    "test",
    undefined,
    turns,
  );
  const answered: string[] = [];
  const get = async (kind: typeof configMapKind | typeof leaseKind, name: string) => {
    await transport.send({ verb: "get", kind, namespace: "default", name });
    answered.push(name);
  };
  const all = ["a", "b", "c"].map((name) => get(configMapKind, name));
  all.push(get(leaseKind, "lease"));
  await nextTurn();
  assert.deepEqual(answered.toSorted(), ["a", "b", "lease"]);
  await Promise.all(all);
  assert.deepEqual(answered.at(-1), "c");
});
