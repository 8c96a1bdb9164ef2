import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { collectTestNames } from "./test-names/collect.ts";
import { subjectOf, Vocabulary } from "./test-names/vocabulary.ts";
import { checkTestNames } from "./test-names.ts";

const vocabulary = new Vocabulary();
vocabulary.addSource(`
  interface PodSpec { hostNetwork?: boolean }
  const reason = "FailedScheduling";
  flags.add("--service-cidr", "workqueue_depth", "/readyz");
  // CRI
`);
const subject = subjectOf(["ring-buffer", "RingBuffer", "parse"]);

describe("test-names: terms", () => {
  const found: readonly (readonly [name: string, term: string])[] = [
    ["a Deployment is complete", "deployment"],
    ["endpoint slices > are planned", "endpoint"],
    ["persistent volumes are bound", "volume"],
    ["a CSR is signed", "csr"],
    ["hostNetwork is refused", "hostNetwork"],
    ["the reason is FailedScheduling", "FailedScheduling"],
    ["--service-cidr is required", "--service-cidr"],
    ["workqueue_depth counts", "workqueue_depth"],
    ["/readyz fails", "/readyz"],
    ["a call of the CRI ends", "CRI"],
    ["owner references are kept", "owner reference"],
    ["a watch ends with 410", "watch"],
    ["list: items are sorted", "list"],
    ["a ring buffer drops the oldest", "ring buffer"],
    ["parse: digits are read", "parse"],
  ];
  for (const [name, term] of found) {
    test(`"${name}" has the term "${term}"`, () => {
      assert.equal(vocabulary.termIn(name, subject), term);
    });
  }

  const missing = [
    "hears what else is wrong first, however long its body is",
    "the name and the type of all items have a value", // fields, but English words
    "a list of things is read",
    "someone parses it",
    "unknownIdentifier is not in the sources",
    "no, ev, po and all are too short to be found",
  ];
  for (const name of missing) {
    test(`"${name}" has no term`, () => {
      assert.equal(vocabulary.termIn(name, subject), undefined);
    });
  }
});

describe("test-names: collectTestNames", () => {
  const cases: { name: string; source: string; want: readonly string[] }[] = [
    {
      name: "describe, test and it are joined",
      source: 'describe("a", () => { describe("b", () => { test("c", f); it("d", f); }); });',
      want: ["a > b > c", "a > b > d"],
    },
    {
      name: "test.skipIf and describe.concurrent are followed",
      source: 'describe.concurrent("a", () => { test.skipIf(x)("b", f); });',
      want: ["a > b"],
    },
    {
      name: "for … of follows the rows of a constant, and leaves calls open",
      source: `
        const rows = [{ name: "a", of: [1] }, { name: "b" }] as const;
        for (const { name } of rows) test(\`x: \${name}\`, f);
        for (const row of rows) test(row.name + " is read", f);
        for (const [n, m] of [["c", "d"]]) test(\`\${n} \${m} \${g(n)}\`, f);
        for (const name of readRows()) test(\`y \${name}\`, f);`,
      want: ["x: a", "x: b", "a is read", "b is read", "c d …", "y …"],
    },
    {
      name: "forEach, map and Object.entries are followed",
      source: `
        ["a", "b"].map((x) => ({ name: x })).forEach(({ name }) => { test(name, f); });
        for (const [key, { want }] of Object.entries({ k: { want: "w" } })) test(key + want, f);`,
      want: ["a", "b", "kw"],
    },
    {
      name: "test.each fills $member and %s, and describe.each binds its row",
      source: `
        test.each([{ name: "a", x: { y: 1 } }])("$name $x.y $z", f);
        test.each([["b", 2], ["c", 3]])("%s is %i", f);
        describe.each([["d", 4]])("in %s", (name, n) => { test(\`\${name}\${n}\`, f); });`,
      want: ["a 1 …", "b is 2", "c is 3", "in d > d4"],
    },
    {
      name: "local functions that define tests are followed, exported suites too",
      source: `
        const row = (name) => ({ name });
        function run(rows) { for (const { name } of rows) test(name, f); }
        describe("a", () => run([row("b"), { name: "c" }]));
        export function suite(open) { test("d", f); }`,
      want: ["a > b", "a > c", "d"],
    },
  ];
  for (const { name, source, want } of cases) {
    test(name, () => {
      const names = collectTestNames("x.test.ts", source).map((found) => found.name);
      assert.deepEqual(names, want);
    });
  }
});

test("test-names: bad names of a sample are reported with their lines", () => {
  const source = `
    describe("volumes", () => {
      test("gone", f);
      test("a hostNetwork pod is refused", f);
    });
    test("hears what is wrong first", f);
    describe("flags", () => { test("hostNetwork", f); });`;
  assert.deepEqual(checkTestNames("x.test.ts", source, subject, vocabulary), [
    'x.test.ts:3: "volumes > gone": "gone" does not say what is expected',
    'x.test.ts:6: "hears what is wrong first" has no term to search for',
  ]);
});
