/** Writes to a shared store whose answer is lost: carried out or not, the answer must not say that they were refused. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { StoreError } from "#store/contract.ts";
import { createMemoryStore, type MemoryStore } from "#store/memory.ts";
import { CONFIG_MAPS, configMap, startTestApi } from "../api.testing.ts";

/** Carries out every write of the wanted kind, and then says that its answer was lost. */
function losingAnswers(operation: "put" | "delete", isLosing: () => boolean): MemoryStore {
  const store = createMemoryStore({ clock: new VirtualClock("2030-01-01T00:00:00Z") });
  const original = store[operation].bind(store) as (...args: unknown[]) => Promise<unknown>;
  const losing = async (...args: unknown[]): Promise<unknown> => {
    const answer = await original(...args);
    if (!isLosing()) return answer;
    throw new StoreError({ code: "Unavailable", maybeApplied: true }, "the answer was lost");
  };
  return Object.assign(store, { [operation]: losing });
}

describe("a write whose answer was lost", () => {
  test("PUT with a resourceVersion gets 503 ServiceUnavailable, not a conflict with itself", async () => {
    let isLosing = false;
    const store = losingAnswers("put", () => isLosing);
    await using t = await startTestApi({ store, storeIsLocal: false });
    const made = await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    isLosing = true;
    const body = { ...made, data: { now: "written" } };
    const answer = await t.want(503, "PUT", `${CONFIG_MAPS}/a`, { body });
    assert.match(answer.message, /the answer was lost/);
    isLosing = false;
    const { data } = await t.want(200, "GET", `${CONFIG_MAPS}/a`);
    assert.deepEqual(data, { now: "written" });
  });

  test("DELETE gets 503 ServiceUnavailable, not 404", async () => {
    let isLosing = false;
    const store = losingAnswers("delete", () => isLosing);
    await using t = await startTestApi({ store, storeIsLocal: false });
    await t.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    isLosing = true;
    await t.want(503, "DELETE", `${CONFIG_MAPS}/a`);
    isLosing = false;
    await t.want(404, "GET", `${CONFIG_MAPS}/a`);
  });
});
