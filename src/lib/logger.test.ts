import assert from "node:assert/strict";
import { test } from "vitest";
import { createLogger, type LoggerOptions, silentLogger } from "./logger.ts";

function capture(options: Partial<LoggerOptions> = {}): {
  logger: ReturnType<typeof createLogger>;
  lines: string[];
} {
  const lines: string[] = [];
  const clock = { nowMs: () => Date.parse("2030-01-01T00:00:00Z") };
  const write = (line: string): void => void lines.push(line);
  return {
    logger: createLogger({ level: "info", format: "json", clock, write, ...options }),
    lines,
  };
}

test("a line is one JSON object with the fields of its parents", () => {
  const { logger, lines } = capture();
  logger.child({ part: "store" }).child({ shard: 1 }).info("opened", { keys: 3 });
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [
      {
        ts: Date.parse("2030-01-01T00:00:00Z"),
        level: "info",
        msg: "opened",
        v: 0,
        part: "store",
        shard: 1,
        keys: 3,
      },
    ],
  );
});

test("Logger: below the level nothing is written", () => {
  const { logger, lines } = capture({ level: "warn" });
  logger.debug("no");
  logger.info("no");
  logger.warn("yes");
  logger.error("yes");
  assert.equal(lines.length, 2);
});

test("secrets are redacted at any depth", () => {
  const { logger, lines } = capture();
  logger.info("request", {
    token: "abc",
    headers: { Authorization: "Bearer abc", accept: "*/*" },
    users: [{ password: "abc", "client-key": "abc" }],
  });
  assert.ok(!lines[0]!.includes("abc"));
  assert.ok(lines[0]!.includes("*/*"));
});

test("Logger: a line stays one line, whatever is in it", () => {
  for (const format of ["json", "pretty", "text"] as const) {
    const { logger, lines } = capture({ format });
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    logger.error("two\nlines", { text: "a\nb", cyclic, big: 2n ** 70n, long: "x".repeat(1e5) });
    assert.equal(lines[0]!.trimEnd().split("\n").length, 1);
    assert.ok(lines[0]!.length < 20_000);
  }
});

test("Logger: errors are written with their causes", () => {
  const { logger, lines } = capture();
  logger.error("failed", { error: new Error("outer", { cause: new Error("inner") }) });
  const { error } = JSON.parse(lines[0]!) as {
    error: { message: string; cause: { message: string } };
  };
  assert.deepEqual([error.message, error.cause.message], ["outer", "inner"]);
});

test("Logger: pretty lines are for people", () => {
  const { logger, lines } = capture({ format: "pretty" });
  logger.warn("slow", { what: "a request", ms: 5 });
  assert.equal(
    lines[0]!.replace(/\p{Cc}\[\d+m/gu, ""),
    '00:00:00.000 warn  slow what="a request" ms=5\n',
  );
});

test("Logger: the silent logger has silent children", () => {
  assert.equal(silentLogger.child({ a: 1 }), silentLogger);
});
