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
    assert.equal(await calls(cluster.endpoints[0]!, "Range", "OutOfRange"), 3);
  });

  test("ttlSeconds: keys with the same time to live share a lease, 1,000 at most", async () => {
    await using cluster = await startEtcd();
    await using store = await openWhenReady(cluster.endpoints);
    const put = (at: number, ttlSeconds: number) =>
      store.put(`/events/${ttlSeconds}-${at}`, Buffer.from("e"), { ttlSeconds });
    for (let at = 0; at < 1_500; at += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, next) => put(at + next, 3_600)));
    }
    await put(0, 7_200);
    assert.equal(await calls(cluster.endpoints[0]!, "LeaseGrant", "OK"), 3);
  });
});

/** How many calls of a method etcd has answered with a code. */
async function calls(endpoint: string, method: string, code: string): Promise<number> {
  const metrics = await (await fetch(`${endpoint}/metrics`)).text();
  const series = `^grpc_server_handled_total\\{grpc_code="${code}",grpc_method="${method}",.*\\} (\\d+)$`;
  return Number(new RegExp(series, "m").exec(metrics)?.[1]);
}
