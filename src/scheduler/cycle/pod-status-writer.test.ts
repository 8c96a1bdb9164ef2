import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Client } from "#client/client.ts";
import type { Transport } from "#client/transport.ts";
import { ConcurrencyLimit } from "#lib/async/concurrency-limit.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { build } from "#testing/build.ts";
import { PodStatusWriter } from "./pod-status-writer.ts";

const pod = (name: string): Pod => build(podKind, { metadata: { name, uid: name } });

test("status writes that have not begun are dropped before the pod is bound", async () => {
  const written: string[] = [];
  const transport: Transport = {
    send: async ({ name = "" }) => {
      await nextTurn();
      written.push(name);
      return { ok: true, value: pod(name) };
    },
    raw: () => Promise.reject(new Error("not asked")),
    watch: () => {
      throw new Error("not asked");
    },
  };
  const clock = systemClock;
  const client = new Client({ transport, clock, random: seededRandom(1), fieldManager: "test" });
  const writer = new PodStatusWriter({
    client,
    calls: new ConcurrencyLimit(1),
    ...{ clock, logger: silentLogger, signal: new AbortController().signal },
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
