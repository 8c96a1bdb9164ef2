import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VirtualClock } from "#lib/virtual-clock.ts";
import { openEmbeddedStore } from "./embedded.ts";
import { describeStore } from "./testing/contract-suite.ts";

describeStore("embedded", async () => {
  const directory = await mkdtemp(join(tmpdir(), "k8ts-store-"));
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const store = await openEmbeddedStore({ directory, clock });
  return {
    store,
    prefix: "/test/",
    async passTime(durationMs) {
      await clock.advance(durationMs);
      // What fell due is being written: a write of our own comes after it.
      await store.transact([{ op: "check", key: "/none", mustNotExist: true }]);
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
      clock[Symbol.dispose]();
    },
  };
});
