import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { createLogger } from "#lib/logger.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { AuditWebhook } from "./webhook.ts";

function world(more: { batchMax?: number; bufferMax?: number; fails?: boolean } = {}) {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const sent: string[][] = [];
  const lines: string[] = [];
  let answer: () => void = () => undefined;
  const hook = new AuditWebhook({
    send: async (question) => {
      const list = JSON.parse(String(question));
      assert.equal(list.kind, "EventList");
      sent.push(list.items.map(({ id }: { id: string }) => id));
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      if (more.fails) throw new Error("away");
    },
    batchMax: more.batchMax ?? 2,
    waitMsMax: 1000,
    bufferMax: more.bufferMax ?? 10,
    clock,
    logger: createLogger({
      level: "info",
      clock,
      format: "json",
      write: (line) => void lines.push(line),
    }),
  });
  const write = (...ids: string[]): void => {
    for (const id of ids) hook.write(JSON.stringify({ id }));
  };
  return { clock, sent, lines, hook, write, answer: () => answer() };
}

describe("audit events for a webhook", () => {
  test("audit webhook: a batch is sent when it is full or old enough", async () => {
    const { clock, sent, write, answer } = world();
    write("a");
    await clock.advance(999);
    assert.deepEqual(sent, []);
    await clock.advance(1);
    assert.deepEqual(sent, [["a"]]);
    answer();
    await clock.advance(0);
    write("b", "c");
    assert.deepEqual(sent, [["a"], ["b", "c"]]);
  });

  test("audit webhook: batches are sent in order, and flushed at shutdown", async () => {
    const { clock, sent, hook, write, answer } = world();
    write("a", "b", "c", "d", "e");
    assert.deepEqual(sent, [["a", "b"]]);
    answer();
    await clock.advance(0);
    assert.deepEqual(sent, [
      ["a", "b"],
      ["c", "d"],
    ]);
    const closed = hook.close();
    answer();
    await clock.advance(0);
    answer();
    await closed;
    assert.deepEqual(sent.at(-1), ["e"]);
  });

  test("are dropped when too many wait, or the webhook does not take them, and that is logged", async () => {
    const { clock, sent, lines, write, answer } = world({ bufferMax: 2, fails: true });
    write("a", "b", "c", "d", "e");
    assert.match(lines.join(""), /an audit event was dropped/);
    answer();
    await clock.advance(0);
    assert.match(lines.join(""), /audit events were lost.*"count":2/);
    assert.deepEqual(sent, [
      ["a", "b"],
      ["c", "d"],
    ]);
  });
});
