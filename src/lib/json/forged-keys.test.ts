import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { hasForgedKey, parseForeignJson } from "./forged-keys.ts";

const PORT_KEY = 'k:{"port":80,"protocol":"TCP"}';
/** As long as the key, and its text as far as it goes: what JSON.parse takes for the key. */
const FORGED = JSON.stringify(PORT_KEY).slice(1, 1 + PORT_KEY.length);
/** No object is made of it here: that would be the attack. */
const FORGED_TEXT = `{"f:ports":{".":{},${JSON.stringify(FORGED)}:{}}}`;

describe("forged keys of managedFields", () => {
  const rows = [
    { name: "a forged k: key", text: FORGED_TEXT, want: true },
    { name: "a forged v: key", text: '{"v:\\\\\\"a":1}', want: true },
    { name: "one whose backslash is \\u005c", text: '{"k:{\\u005C\\"port":1}', want: true },
    { name: "one whose letters are \\u escapes", text: '{"\\u006b:{\\\\\\"port":1}', want: true },
    { name: "a key before a distant colon", text: '{"k:{\\\\\\"port" \n : 1}', want: true },
    { name: "a real k: key", text: JSON.stringify({ [PORT_KEY]: {} }), want: false },
    {
      name: "a real k: key of a Windows path",
      text: JSON.stringify({ [`k:${JSON.stringify({ mountPath: "C:\\new" })}`]: {} }),
      want: false,
    },
    { name: "a value that looks so", text: JSON.stringify({ a: FORGED }), want: false },
    { name: "a key in a string", text: JSON.stringify({ a: `{"${FORGED}":1}` }), want: false },
    { name: "another key with a backslash", text: '{"C:\\\\new":1}', want: false },
  ];
  for (const { name, text, want } of rows) {
    test(`hasForgedKey: ${name} is ${want ? "found" : "none"}`, () => {
      assert.equal(hasForgedKey(text), want);
    });
  }

  test("parseForeignJson refuses a forged key, so that JSON.parse keeps the managedFields of others", () => {
    assert.throws(() => parseForeignJson(FORGED_TEXT), SyntaxError);
    const fields = { "f:ports": { ".": {}, [PORT_KEY]: {} } };
    assert.deepEqual(JSON.parse(JSON.stringify(fields)), fields);
  });
});
