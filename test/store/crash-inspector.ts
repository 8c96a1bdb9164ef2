/** Looks whether a store that crash-writer.ts wrote to has kept its word. */
import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { type Store, StoreError } from "#store/contract.ts";
import { numberIn, pairKeys } from "./crash-values.ts";

export interface Acknowledged {
  readonly number: number;
  readonly revision: number;
}

export interface Notes {
  /** The last one of each writer. */
  readonly acknowledged: Map<number, Acknowledged>;
  readonly lines: number;
}

/** Reads and removes what the writer noted. */
export function takeNotes(path: string): Notes {
  const acknowledged = new Map<number, Acknowledged>();
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  for (const line of lines) {
    const [name, number, revision] = line.split(" ").map(Number) as [number, number, number];
    acknowledged.set(name, { number, revision });
  }
  rmSync(path);
  return { acknowledged, lines: lines.length };
}

/** Returns what it found, which counts as acknowledged in the next round. */
export async function inspect(
  store: Store,
  acknowledged: Map<number, Acknowledged>,
): Promise<Map<number, Acknowledged>> {
  const current = await store.currentRevision();
  const inspected = new Map<number, Acknowledged>();
  for (const [writer, { number, revision }] of acknowledged) {
    const [left, right] = await Promise.all(pairKeys(writer).map((key) => store.get(key)));
    const found = numberIn(left?.entry?.value);
    assert.equal(numberIn(right?.entry?.value), found, `both halves of pair ${writer}`);
    assert.equal(left?.entry?.modRevision, right?.entry?.modRevision, "in one transaction");
    // The one that was under way when the kill came may be there, whole.
    assert.ok(
      found === number || found === number + 1,
      `pair ${writer}: ${number} acknowledged, ${found} found`,
    );
    if (found === number) assert.equal(left?.entry?.modRevision, revision);
    assert.ok(revision <= current);
    inspected.set(writer, { number: found, revision: left!.entry!.modRevision });
  }
  await inspectHistory(store, current);
  const answer = await store.put("/inspected", Buffer.from("1"));
  assert.deepEqual(answer, { ok: true, revision: current + 1 }, "revisions go on");
  return inspected;
}

/** Each revision since the last compaction is there once, and its values are whole. */
async function inspectHistory(store: Store, current: number): Promise<void> {
  const abort = new AbortController();
  const seen = new Set<number>();
  const follow = (fromRevision: number): Promise<void> =>
    store.watch("", { fromRevision, signal: abort.signal }).deliverTo(({ revision, events }) => {
      for (const event of events) {
        seen.add(event.revision);
        if (event.type === "put" && event.key.startsWith("/pair/")) numberIn(event.value);
      }
      if (revision >= current) abort.abort();
    });
  let from = 2; // an empty store is at revision 1
  try {
    await follow(from);
  } catch (error) {
    if (!(error instanceof StoreError) || error.problem.code !== "Compacted") throw error;
    from = error.problem.compactRevision + 1;
    if (from <= current) await follow(from);
  }
  assert.equal(seen.size, current - from + 1, `revisions ${from} to ${current}`);
}
