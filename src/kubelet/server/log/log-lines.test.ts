import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import { LineMover } from "./line-mover.ts";
import { LogLines } from "./log-lines.ts";

const FILE = [
  "2030-01-01T00:00:00.1Z stdout F one",
  "2030-01-01T00:00:01.25Z stderr F two",
  "2030-01-01T00:00:02Z stdout P thr",
  "2030-01-01T00:00:02.5Z stdout F ee",
  "2030-01-01T00:00:03Z stdout F ",
  "not a line of the runtime",
  "2030-01-01T00:00:04Z stdout F naïve ✓ text",
  "",
].join("\n");

const CASES = [
  {
    name: "all streams; partial lines are joined",
    options: {},
    want: "one\ntwo\nthree\n\nnaïve ✓ text\n",
  },
  { name: "stream=Stderr leaves out stdout", options: { stream: "Stderr" }, want: "two\n" },
  {
    name: "stream=Stdout leaves out stderr",
    options: { stream: "Stdout" },
    want: "one\nthree\n\nnaïve ✓ text\n",
  },
  {
    name: "sinceTime leaves out what was written before",
    options: { sinceMs: Date.parse("2030-01-01T00:00:02.400Z") },
    want: "ee\n\nnaïve ✓ text\n",
  },
  {
    name: "timestamps stand once before a line that was written in parts",
    options: { timestamps: true },
    want: [
      "2030-01-01T00:00:00.1Z one",
      "2030-01-01T00:00:01.25Z two",
      "2030-01-01T00:00:02Z three",
      "2030-01-01T00:00:03Z ",
      "2030-01-01T00:00:04Z naïve ✓ text",
      "",
    ].join("\n"),
  },
] as const;

const USUAL = [
  "2030-01-01T00:00:00.123456789Z stdout F one",
  "2030-01-01T00:00:01.123456789Z stderr P tw",
  "2030-01-01T00:00:01.223456789Z stderr F o",
  "2030-01-01T00:00:02.123456789Z stdout F ",
  "2030-01-01T00:00:02.123456789Z stdout F",
  "2030-01-01T00:00:03.123456789Z stdgut F",
  "2030-01-01T00:00:04.123456789Z stdout F naïve ✓",
  "",
].join("\n");

describe("container log", () => {
  test.each([
    { options: {}, want: "one\ntwo\n\n\n\nnaïve ✓\n" },
    { options: { stream: "Stderr" }, want: "two\n" },
    { options: { sinceMs: Date.parse("2030-01-01T00:00:04Z") }, want: "naïve ✓\n" },
  ] as const)("lines with times of nine digits: $options", ({ options, want }) => {
    const lines = new LogLines({ timestamps: false, stream: "All", ...options });
    assert.equal(Buffer.from(lines.add(Buffer.from(USUAL))).toString(), want);
  });

  test.each(CASES)("$name", ({ options, want }) => {
    const lines = new LogLines({ timestamps: false, stream: "All", ...options });
    assert.equal(Buffer.from(lines.add(Buffer.from(FILE))).toString(), want);
  });

  test("the text is the same wherever the blocks of the file are cut", () => {
    const bytes = Buffer.from(FILE);
    const want = "one\ntwo\nthree\n\nnaïve ✓ text\n";
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
        const lines = new LogLines({ timestamps: false, stream: "All" });
        const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const parts = at
          .slice(1)
          .map((end, i) => lines.add(Buffer.concat([lines.rest, bytes.subarray(at[i], end)])));
        assert.equal(Buffer.concat(parts).toString(), want);
      }),
    );
  });

  test("a large block with a LineMover: the text is that of the same lines one by one", () => {
    const mover = new LineMover();
    const line = fc.oneof(
      { weight: 8, arbitrary: fc.nat(200).map((n) => usual("F", "x".repeat(n))) },
      { weight: 1, arbitrary: fc.nat(40).map((n) => usual("P", "part".repeat(n))) },
      // Zeros at the end of a time are left out.
      { weight: 4, arbitrary: fc.tuple(fc.nat(14), fc.nat(50)).map(([cut, n]) => shorter(cut, n)) },
      fc.constantFrom(...USUAL.split("\n"), ...FILE.split("\n")),
      // The time of the second ends where that of a usual line would, counted from the first.
      fc.constant("2030-01 stdout F a\n2030-01010Z stdout F not usual"),
      fc.constant("begin\n2030-01-01T00:00:00Z stdout F short time"),
      fc.constant("2030-01-01T00:00:00Z std\nab F no stream"),
    );
    fc.assert(
      fc.property(fc.array(line, { minLength: 300, maxLength: 400 }), fc.nat(50), (all, cut) => {
        const filler = Array.from({ length: 200 }, () => usual("F", "f".repeat(99)));
        const file = Buffer.from(`${[...all, ...filler].join("\n")}\n`);
        const bytes = file.subarray(0, file.length - cut);
        const plain = new LogLines({ timestamps: false, stream: "All" });
        const fast = new LogLines({ timestamps: false, stream: "All" }, mover);
        const want = Buffer.from(plain.add(Buffer.from(bytes))).toString();
        assert.equal(Buffer.from(fast.add(Buffer.from(bytes))).toString(), want);
        assert.deepEqual(Buffer.from(fast.rest), Buffer.from(plain.rest));
      }),
      { numRuns: 200 },
    );
  });
});

function shorter(cut: number, textBytes: number): string {
  const time = "2030-01-01T00:00:00.123456789123";
  return `${time.slice(0, time.length - cut)}Z stdout F ${"s".repeat(textBytes)}`;
}

function usual(tag: string, content: string): string {
  return `2030-01-01T00:00:00.123456789Z stdout ${tag} ${content}`;
}
