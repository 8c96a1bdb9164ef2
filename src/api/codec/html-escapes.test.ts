import assert from "node:assert/strict";
import { test } from "vitest";
import { escapeHtml } from "./html-escapes.ts";

test("escapeHtml: signs of pages are escaped, and mean the same", () => {
  const value = { "a<b": "<script>&\u2028\u2029é</script>" };
  const text = escapeHtml(JSON.stringify(value));
  assert.equal(
    text,
    '{"a\\u003cb":"\\u003cscript\\u003e\\u0026\\u2028\\u2029é\\u003c/script\\u003e"}',
  );
  assert.deepEqual(JSON.parse(text), value);
  assert.equal(escapeHtml('{"a":"b"}'), '{"a":"b"}');
});
