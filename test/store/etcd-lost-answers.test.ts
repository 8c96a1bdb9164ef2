/** Writes whose answer is lost between the store and one member of etcd. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { describe, test } from "vitest";
import { systemClock } from "#lib/time/system-clock.ts";
import { type Store, StoreError } from "#store/contract.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { startEtcd } from "./etcd-cluster.ts";
import { openWhenReady } from "./open-etcd.ts";

const missing = missingProgram("etcd");

describe.skipIf(missing !== undefined)(
  `lost answers of etcd${missing ? ` (${missing})` : ""}`,
  () => {
    test("a create that a member carries out late does not bring back an object that was deleted meanwhile", async () => {
      await using etcd = await startEtcd();
      await using slow = await startRelay(etcd.endpoints[0]!);
      await using store = await openThrough(slow, etcd);
      slow.hold("requests");
      await assert.rejects(
        store.put("/a/x", Buffer.from("1"), { mustNotExist: true }),
        (error) => error instanceof StoreError && error.problem.code === "Unavailable",
      );
    });

    test("a create whose answer was lost is found to be carried out", async () => {
      await using etcd = await startEtcd();
      await using slow = await startRelay(etcd.endpoints[0]!);
      await using store = await openThrough(slow, etcd);
      slow.hold("answers");
      const put = await store.put("/a/x", Buffer.from("1"), { mustNotExist: true });
      const { entry } = await store.get("/a/x");
      assert.deepEqual(put, { ok: true, revision: entry?.modRevision });
    });

    test("an update whose answer was lost is sent again and takes effect once", async () => {
      await using etcd = await startEtcd();
      await using slow = await startRelay(etcd.endpoints[0]!);
      await using store = await openThrough(slow, etcd);
      const made = await store.put("/a/x", Buffer.from("1"), { mustNotExist: true });
      slow.hold("answers");
      const put = await store.put("/a/x", Buffer.from("2"), { expectRevision: made.revision });
      const { entry } = await store.get("/a/x");
      assert.deepEqual(put, { ok: true, revision: entry?.modRevision });
      assert.equal(entry?.version, 2);
    });

    test("an update whose answer was lost and that others have replaced is a success, not a conflict", async () => {
      await using etcd = await startEtcd();
      await using slow = await startRelay(etcd.endpoints[0]!);
      await using store = await openThrough(slow, etcd);
      await using other = await openWhenReady(etcd.endpoints);
      const made = await store.put("/a/x", Buffer.from("1"), { mustNotExist: true });
      slow.hold("answers");
      const putting = store.put("/a/x", Buffer.from("2"), { expectRevision: made.revision });
      let next = await other.get("/a/x");
      while (next.entry?.modRevision === made.revision) next = await other.get("/a/x");
      const second = next.entry?.modRevision ?? 0;
      const third = await other.put("/a/x", Buffer.from("3"), { expectRevision: second });
      await other.put("/a/x", Buffer.from("4"), { expectRevision: third.revision });
      assert.deepEqual(await putting, { ok: true, revision: second });
    });

    test("an update that no member answers is given up before a lease of another leader can begin", async () => {
      await using etcd = await startEtcd();
      await using slow = await startRelay(etcd.endpoints[0]!);
      await (await openWhenReady(etcd.endpoints))[Symbol.asyncDispose]();
      await using store = await openWhenReady([slow.endpoint]);
      const made = await store.put("/a/x", Buffer.from("1"), { mustNotExist: true });
      slow.hold("requests");
      const released = systemClock.sleep(3_500).then(() => slow.hold(undefined));
      await assert.rejects(
        store.put("/a/x", Buffer.from("2"), { expectRevision: made.revision }),
        ({ problem }: StoreError) => problem.code === "Unavailable" && problem.maybeApplied,
      );
      await released;
      const { entry } = await store.get("/a/x");
      assert.equal(entry?.modRevision, made.revision);
    });
  },
);

/**
 * A store whose calls go through the relay first. A relay connects before its member does, so the member
 * has to answer by then: a failed call would make the store go on with the direct way.
 */
async function openThrough(
  relay: { readonly endpoint: string },
  { endpoints }: { readonly endpoints: readonly string[] },
): Promise<Store> {
  await (await openWhenReady(endpoints))[Symbol.asyncDispose]();
  return openWhenReady([relay.endpoint, ...endpoints]);
}

/** A way to an etcd member on which one direction can be held up. */
async function startRelay(endpoint: string) {
  const { hostname: host, port } = new URL(endpoint);
  let held: "requests" | "answers" | undefined;
  const server = createServer((client) => {
    const member = connect({ host, port: Number(port) });
    client.on("data", (bytes) => held !== "requests" && member.write(bytes));
    member.on("data", (bytes) => held !== "answers" && client.write(bytes));
    for (const [one, other] of [
      [client, member],
      [member, client],
    ] as const) {
      one.on("close", () => other.destroy());
      one.on("error", () => other.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    endpoint: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    hold: (direction: "requests" | "answers" | undefined): void => {
      held = direction;
    },
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}
