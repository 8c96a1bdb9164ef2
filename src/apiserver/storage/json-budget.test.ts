import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { KubeObject } from "#api/kind.ts";
import { findByKind } from "#api/kinds/built-in-kinds.ts";
import type { ObjectList } from "../response/answer.ts";
import { jsonText } from "../response/list-text.ts";
import { JsonBudget } from "./json-budget.ts";
import { Revision } from "./revision.ts";

const kind = findByKind("", "v1", "ConfigMap")!;

function revision(name: string, text = stored(name)): Revision {
  return Revision.fromJson(kind, `/registry/configmaps/n/${name}`, 7, Buffer.from(text));
}

function stored(name: string): string {
  return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"${name}","uid":"u"},"data":{"k":"ü\\u003c"}}`;
}

describe("budget of JSON text", () => {
  test("within the limit all text is kept", () => {
    const budget = new JsonBudget(1_000);
    const one = revision("a");
    const value = one.value;
    budget.hold(one);
    assert.ok(one.hasText);
    assert.equal(budget.bytes, one.jsonBytes);
    assert.equal(one.value, value);
  });

  test("beyond it the text of the oldest is dropped and made again from the value", () => {
    const [one, two] = [revision("a"), revision("b")];
    const [line, value, itemStart] = [Buffer.from(one.line), one.value, one.itemStart];
    const budget = new JsonBudget(one.jsonBytes + 10);
    budget.hold(one);
    budget.hold(two);
    assert.ok(!one.hasText);
    assert.ok(two.hasText);
    assert.equal(budget.bytes, two.jsonBytes);
    assert.deepEqual(one.line, line);
    assert.equal(one.jsonBytes, line.length - 1);
    assert.equal(one.itemStart, itemStart);
    assert.equal(one.value, value);
    assert.ok(one.holds(Buffer.from(stored("a"))));
  });

  test("the text of an own write is dropped without a comparison, and the same text is made again", () => {
    const text = stored("a");
    const object = JSON.parse(text) as KubeObject;
    const key = "/registry/configmaps/n/a";
    const one = Revision.fromWrite(kind, key, 7, Buffer.from(text), object);
    const { value, itemStart, jsonBytes } = one;
    assert.ok(one.holds(Buffer.from(text)));
    assert.ok(one.dropText());
    assert.ok(!one.hasText);
    const read = revision("a", text); // has the text from the store
    assert.deepEqual(one.line, read.line);
    assert.equal(itemStart, read.itemStart);
    assert.equal(jsonBytes, read.jsonBytes);
    assert.equal(one.jsonBytes, read.jsonBytes);
    assert.equal(one.value, value);
  });

  test("text whose value is not in use is kept and tried again later", () => {
    const [one, two, three] = [revision("a"), revision("b"), revision("c")];
    const budget = new JsonBudget(one.jsonBytes + 10);
    budget.hold(one);
    budget.hold(two);
    assert.ok(one.hasText);
    const value: KubeObject = one.value;
    budget.hold(three);
    assert.ok(!one.hasText);
    assert.equal(budget.bytes, two.jsonBytes + three.jsonBytes);
    assert.equal(one.value, value);
  });

  test("text that another program wrote in another form is kept", () => {
    const one = revision("a", stored("a").replace(',"data"', ', "data"'));
    const value = one.value;
    const budget = new JsonBudget(1);
    budget.hold(one);
    assert.ok(one.hasText);
    assert.equal(one.value, value);
  });

  test("a revision that is released does not count", () => {
    const budget = new JsonBudget(1_000);
    const one = revision("a");
    budget.hold(one);
    budget.release(one);
    budget.release(one);
    assert.equal(budget.bytes, 0);
  });

  test("a list of items without text has the same bytes", () => {
    const items = [revision("a"), revision("b")];
    const query = new URLSearchParams();
    const list: ObjectList = { kind, items, resourceVersion: "9", place: "", query };
    const want = jsonText(list).whole();
    const values = items.map((item) => item.value);
    assert.deepEqual(
      items.map((item) => item.dropText()),
      [true, true],
    );
    assert.deepEqual(jsonText(list).whole(), want);
    assert.equal(values.length, 2);
  });
});
