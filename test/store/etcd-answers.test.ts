/** etcd is not asked twice for the same: its own request counters show it. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { StoreError } from "#store/contract.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { startEtcd } from "./etcd-cluster.ts";
import { openWhenReady } from "./open-etcd.ts";

const missing = missingProgram("etcd");

describe.skipIf(missing !== undefined)(`etcd${missing ? ` (${missing})` : ""}`, () => {
  test("a read of a revision that is gone or to come costs one call", async () => {
    await using cluster = await startEtcd();
    await using store = await openWhenReady(cluster.endpoints);
    for (const name of ["a", "b", "c"]) await store.put(`/${name}`, Buffer.from(name));
    await store.compact(3);

    for (const [atRevision, code] of [
      [2, "Compacted"],
      [2, "Compacted"],
      [9, "FutureRevision"],
    ] as const) {
      const refusal = (error: unknown) =>
        error instanceof StoreError && error.problem.code === code;
      await assert.rejects(store.get("/a", { atRevision }), refusal);
    }
    assert.equal(await rangesRefused(cluster.endpoints[0]!), 3);
  });
});

async function rangesRefused(endpoint: string): Promise<number> {
  const metrics = await (await fetch(`${endpoint}/metrics`)).text();
  const series =
    /^grpc_server_handled_total\{grpc_code="OutOfRange",grpc_method="Range",.*\} (\d+)$/m;
  return Number(series.exec(metrics)?.[1]);
}
