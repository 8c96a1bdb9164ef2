import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { findByKind } from "#api/kinds/built-in-kinds.ts";
import { Revision } from "./revision.ts";

const configMap = findByKind("", "v1", "ConfigMap")!;

const STORED =
  '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","labels":{"x":"y"}},"data":{"k":"ü"}}';

const fromJson = (text: string, number = 7): Revision =>
  Revision.fromJson(configMap, "/registry/configmaps/n/a", number, Buffer.from(text));

describe("a revision of an object", () => {
  test("its JSON has the resourceVersion behind the uid, and nothing else changes", () => {
    const want = STORED.replace('"uid":"u"', '"uid":"u","resourceVersion":"7"');
    assert.equal(fromJson(STORED).json.toString(), want);
    assert.equal(fromJson(STORED).line.toString(), `${want}\n`);
  });

  test("the value is frozen and says the same", () => {
    const { value } = fromJson(STORED);
    assert.equal(value.metadata.resourceVersion, "7");
    assert.ok(Object.isFrozen(value.metadata.labels));
  });

  test("an item of a list is the tail of the text", () => {
    const revision = fromJson(STORED);
    const item = JSON.parse(`{${revision.json.toString("utf8", revision.itemStart)}`);
    const { kind: _, apiVersion: __, ...rest } = revision.value;
    assert.deepEqual(item, rest);
  });

  test("renumbering replaces the resourceVersion alone, with or without text", () => {
    const { value } = fromJson(STORED);
    const want = { ...value, metadata: { ...value.metadata, resourceVersion: "12345" } };
    assert.deepEqual(fromJson(STORED).renumbered(12345).value, want);
    const fromValue = Revision.fromValue(configMap, "k", 7, value);
    assert.deepEqual(fromValue.renumbered(12345).value, want);
    assert.deepEqual(JSON.parse(fromValue.renumbered(12345).json.toString()), want);
  });

  test("it knows the text that it was made of", () => {
    assert.ok(fromJson(STORED).holds(Buffer.from(STORED)));
    assert.ok(!fromJson(STORED).holds(Buffer.from(STORED.replace("ü", "u"))));
    assert.ok(!fromJson(STORED).holds(Buffer.from(STORED.replace('"k"', '"l"'))));
  });

  test("a dry run has no resourceVersion", () => {
    const revision = Revision.fromValue(configMap, "k", 0, JSON.parse(STORED));
    assert.equal(revision.json.toString(), STORED);
  });

  const foreign = [
    {
      name: "keys in another order",
      text: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"uid":"u"}}',
    },
    {
      name: "a field in front",
      text: '{"data":{"metadata":"{"},"kind":"ConfigMap","apiVersion":"v1","metadata":{"uid":"u"}}',
    },
    { name: "no uid", text: '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}' },
  ];
  for (const { name, text } of foreign) {
    test(`foreign text is understood: ${name}`, () => {
      const revision = fromJson(text);
      const plain = JSON.parse(text);
      const want = { ...plain, metadata: { ...plain.metadata, resourceVersion: "7" } };
      assert.deepEqual(revision.value, want);
      assert.deepEqual(JSON.parse(revision.json.toString()), want);
      const item = JSON.parse(`{${revision.json.toString("utf8", revision.itemStart)}`);
      assert.deepEqual(item.metadata, want.metadata);
    });
  }

  test("quotes in a name do not lead astray", () => {
    const name = 'a","uid":"z';
    const text = JSON.stringify({
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name, uid: "u" },
    });
    const { metadata } = JSON.parse(fromJson(text).json.toString());
    assert.deepEqual(metadata, { name, uid: "u", resourceVersion: "7" });
  });
});
