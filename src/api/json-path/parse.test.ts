import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { type JsonPathNode, parseJsonPath } from "./parse.ts";

const field = (name: string): JsonPathNode => ({ node: "field", name });
const text = (value: string): JsonPathNode => ({ node: "text", text: value });

describe("JSONPath", () => {
  const good: readonly { text: string; template: readonly (readonly JsonPathNode[])[] }[] = [
    { text: "", template: [] },
    { text: "plain", template: [[text("plain")]] },
    { text: "{.a.b}", template: [[field("a"), field("b")]] },
    { text: "{$.a}, {@.b}", template: [[field("a")], [text(", ")], [field("b")]] },
    { text: "{.a\\.b}", template: [[field("a.b")]] },
    { text: "{['a.b']}", template: [[field("a"), field("b")]] },
    { text: "{.*}", template: [[{ node: "wildcard" }]] },
    { text: "{..a}", template: [[{ node: "recursive" }, field("a")]] },
    { text: "{[2]}", template: [[{ node: "slice", start: 2, end: 3 }]] },
    { text: "{[-1]}", template: [[{ node: "slice", start: -1, end: 0 }]] },
    { text: "{[1:5:2]}", template: [[{ node: "slice", start: 1, end: 5, step: 2 }]] },
    { text: "{[*]}", template: [[{ node: "slice" }]] },
    {
      text: "{['a','b']}",
      template: [[{ node: "union", paths: [[field("a")], [field("b")]] }]],
    },
    {
      text: '{.a[?(@.b=="c")].d}',
      template: [
        [
          field("a"),
          { node: "filter", left: [field("b")], operator: "==", right: [text("c")] },
          field("d"),
        ],
      ],
    },
    {
      text: "{[?(@.a)]}",
      template: [[{ node: "filter", left: [field("a")], operator: "exists", right: [] }]],
    },
    {
      text: "{range .a}{.b}{end}",
      template: [
        [{ node: "identifier", name: "range" }, field("a")],
        [field("b")],
        [{ node: "identifier", name: "end" }],
      ],
    },
    { text: '{"a\\n\\x41"}', template: [[text("a\nA")]] },
    {
      text: "{true} {-1.5}",
      template: [[{ node: "bool", value: true }], [text(" ")], [{ node: "number", value: -1.5 }]],
    },
  ];
  for (const { text, template } of good) {
    test(`parseJsonPath reads ${text}`, () =>
      assert.deepEqual(parseJsonPath(text), { ok: true, template }));
  }

  const bad = [
    { text: "{.a", fault: "unclosed action" },
    { text: "{.a[}", fault: "unterminated array" },
    { text: "{[a]}", fault: "invalid array index a" },
    { text: "{[1:a]}", fault: "invalid array index 1:a" },
    { text: "{....a}", fault: "invalid multiple recursive descent" },
    { text: "{[?(@.a}", fault: "unterminated filter" },
    { text: "{[?(@.a)}", fault: "unclosed array expect ]" },
    { text: '{"a}', fault: "unterminated quoted string" },
    { text: '{"\\q"}', fault: 'unquote string "\\q" error invalid syntax' },
    { text: "{#}", fault: "unrecognized character in action: U+0023 '#'" },
    { text: "{1.2.3}", fault: "cannot parse number 1.2.3" },
  ];
  for (const { text, fault } of bad) {
    test(`parseJsonPath refuses ${text}`, () =>
      assert.deepEqual(parseJsonPath(text), { ok: false, fault }));
  }

  test("a text of many brackets is refused, not followed", () => {
    const deep = `${"[?(".repeat(200)}@.a${")]".repeat(200)}`;
    assert.equal(parseJsonPath(`{${deep}}`).ok, false);
  });
});
