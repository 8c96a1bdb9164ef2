import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import type { Client } from "#client/client.ts";
import { ConcurrencyLimit } from "#lib/async/concurrency-limit.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { PodStatusWriter } from "./pod-status-writer.ts";

const pod = (name: string): Pod =>
  ({ metadata: { name, uid: name, namespace: "default" }, spec: {} }) as unknown as Pod;

test("status writes that have not begun are dropped before the pod is bound", async () => {
  const written: string[] = [];
  const patch = async (_kind: unknown, { name }: { name: string }) => {
    await nextTurn();
    written.push(name);
    return { ok: true };
  };
  const writer = new PodStatusWriter({
    client: { patch } as unknown as Client,
    calls: new ConcurrencyLimit(1),
    ...{ clock: systemClock, logger: silentLogger, signal: new AbortController().signal },
  });
  for (const name of ["begun", "waiting", "other"]) {
    writer.write(pod(name), { nominatedNodeName: "n1" });
    writer.write(pod(name), { nominatedNodeName: "n2" });
  }
  await Promise.resolve();
  writer.drop("begun"); // its second write is dropped, too
  writer.drop("waiting");
  while (writer.pending > 0) await nextTurn();
  assert.deepEqual(written, ["begun", "other", "other"]);
});
