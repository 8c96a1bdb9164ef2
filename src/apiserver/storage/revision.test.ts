import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Kind, KubeObject } from "#api/kind.ts";
import { findByKind } from "#api/kinds/built-in-kinds.ts";
import { finished } from "#lib/async/steps.ts";
import { Revision } from "./revision.ts";

let schemaReads = 0;
const widgetKind: Kind = {
  ...findByKind("", "v1", "ConfigMap")!,
  holdsFreeJson: true,
  custom: {
    appliedSchema: () => findByKind("", "v1", "ConfigMap")!.schema(),
    isTerminating: () => false,
    prune: () => finished([]),
    defaultSteps: () => finished(undefined),
    storedSchema: undefined,
    fromStore: (stored) => {
      schemaReads += 1;
      const { data } = stored as { data?: Record<string, string> };
      return data?.color === undefined
        ? ({ ...stored, data: { ...data, color: "red" } } as KubeObject)
        : stored;
    },
    publishedSchema: () => ({}),
  },
};

const configMap = findByKind("", "v1", "ConfigMap")!;

const STORED =
  '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","labels":{"x":"y"}},"data":{"k":"ü"}}';

const fromJson = (text: string, number = 7): Revision =>
  Revision.fromJson(configMap, "/registry/configmaps/n/a", number, Buffer.from(text));

test("text that is kept as it was read: the same JSON, value, item, numbers and size", () => {
  const kept = (): Revision =>
    Revision.fromJson(configMap, "/registry/configmaps/n/a", 7, Buffer.from(STORED), {
      isKept: true,
    });
  assert.deepEqual(kept().value, fromJson(STORED).value);
  assert.equal(kept().json.toString(), fromJson(STORED).json.toString());
  assert.equal(kept().itemStart, fromJson(STORED).itemStart);
  assert.equal(kept().heldBytes, fromJson(STORED).heldBytes);
  assert.deepEqual(kept().renumbered(12345).value, fromJson(STORED).renumbered(12345).value);
  assert.ok(kept().holds(Buffer.from(STORED)));
  const read = kept();
  void read.value;
  assert.equal(read.json.toString(), fromJson(STORED).json.toString());
  const versioned = STORED.replace('"uid":"u"', '"uid":"u","resourceVersion":"3"');
  const other = Revision.fromJson(configMap, "k", 7, Buffer.from(versioned), { isKept: true });
  assert.equal(other.json.toString(), fromJson(STORED).json.toString());
});

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

  test("holds compares with the stored text", () => {
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

describe("a revision of a stored custom resource", () => {
  const raw = (text: string): Revision =>
    Revision.fromRawJson(widgetKind, "k", 7, Buffer.from(text))!;
  const complete = STORED.replace('"k":"ü"', '"color":"blue"');

  test("the schema is read when the object is first used, once", () => {
    schemaReads = 0;
    const revision = raw(complete);
    assert.deepEqual([revision.isRaw, revision.heldBytes > 0, schemaReads], [true, true, 0]);
    assert.equal(revision.isStale, false);
    assert.deepEqual(JSON.parse(revision.json.toString()), revision.value);
    assert.deepEqual([revision.isRaw, schemaReads], [false, 1]);
  });

  test("defaults of the schema show in every form, and it is stale", () => {
    const forms: ((revision: Revision) => { data: object })[] = [
      ({ value }) => value as never,
      ({ json }) => JSON.parse(json.toString()),
      (revision) => revision.renumbered(8).value as never,
      ({ line, itemStart }) => JSON.parse(`{${line.toString("utf8", itemStart)}`),
      (revision) => JSON.parse(`{${revision.json.toString("utf8", revision.itemStart)}`),
    ];
    for (const form of forms) {
      const revision = raw(STORED);
      const bytes = revision.heldBytes;
      assert.deepEqual(form(revision).data, { k: "ü", color: "red" });
      assert.equal(revision.isStale, true);
      assert.equal(revision.heldBytes, bytes);
      assert.equal(revision.holds(Buffer.from(STORED)), false);
    }
  });
});
