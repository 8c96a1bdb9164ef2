/**
 * Random objects of many types under random writes. Nothing may throw or change what it was given,
 * and ownership keeps its laws.
 */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { normalizerOf } from "#api/codec/normalizer.ts";
import { maximalObject } from "#api/codec/testing/maximal.ts";
import { isObject, type JsonObject, jsonEqual } from "#api/patch/json-value.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import type { Schema, StructSchema } from "#api/schema/schema.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { type Random, seededRandom } from "#lib/random.ts";
import { applyPatch } from "./apply.ts";
import { compareObjects } from "./compare.ts";
import {
  decodeFieldSet,
  difference,
  type FieldSet,
  intersection,
  isEmptySet,
  pathsOf,
} from "./field-set.ts";
import { fieldsOf } from "./fields-of.ts";
import { applyUpdate } from "./history.testing.ts";
import { managedFieldsOf, withManagedFields } from "./managed-object.ts";
import { decodeManagers } from "./managers.ts";
import { elementOf, ItemError, isHollow, itemSchema, memberSchema } from "./typed-values.ts";

/** How often a build server repeats what a developer's machine does once. */
const ROUNDS = process.env.CI === "true" ? 200 : 10;

const TYPES = [
  "core.v1.Pod",
  "core.v1.Service",
  "core.v1.Node",
  "core.v1.ConfigMap",
  "core.v1.PersistentVolumeClaim",
  "apps.v1.Deployment",
  "apps.v1.ControllerRevision",
  "networking.v1.NetworkPolicy",
  "apps.v1.StatefulSet",
  "resource.v1.ResourceSlice",
];

const full = new Map<string, JsonObject>();

/** Some of the fields of a full object, with a few values changed. */
function sample(type: string, schema: StructSchema, random: Random): JsonObject {
  const key = `${type} ${random.integer(4)}`;
  const whole = full.get(key) ?? maximalObject(schema, full.size);
  full.set(key, whole);
  const { metadata: _, status: __, ...rest } = thinned(whole, random) as JsonObject;
  const labels = Object.fromEntries(
    [..."abcd"].filter(() => random.integer(2) === 0).map((k) => [k, String(random.integer(2))]),
  );
  const finalizers = ["x/a", "x/b", "x/c"].filter(() => random.integer(2) === 0);
  const metadata = { name: "n", labels, ...(finalizers.length > 0 ? { finalizers } : {}) };
  return normalizerOf(schema)({ ...rest, apiVersion: "v1", kind: "K", metadata }) as JsonObject;
}

/** As a person would write it: without what the server writes for nothing. */
function lean(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lean);
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name, lean(member)] as const);
  return Object.fromEntries(members.filter(([, member]) => !isHollow(member) && member !== ""));
}

/** Items of lists keep their plain members, among which are their keys. */
function thinned(value: unknown, random: Random, isItem = false): unknown {
  if (Array.isArray(value)) {
    return value.filter(() => random.integer(4) > 0).map((item) => thinned(item, random, true));
  }
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(
    ([, member]) => random.integer(3) > 0 || (isItem && typeof member !== "object"),
  );
  return Object.fromEntries(kept.map(([name, member]) => [name, thinned(member, random)]));
}

/** The value at a path; undefined if there is none. */
function valueAt(value: unknown, path: readonly string[], schema: Schema): unknown {
  const [element, ...rest] = path;
  if (element === undefined) return value;
  if (element.startsWith("f:")) {
    const name = element.slice(2);
    const member = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    return valueAt(member, rest, memberSchema(schema, name));
  }
  if (!Array.isArray(value) || schema.shape !== "list") return undefined;
  const item = value.find((one) => elementOf(one, schema) === element);
  return valueAt(item, rest, itemSchema(schema));
}

/** Who manages what, in sets that are as they would be read: in order, and each step in its one spelling. */
function managersIn(object: JsonObject): { name: string; fields: FieldSet }[] {
  const decoded = decodeManagers(managedFieldsOf(object));
  assert.ok(decoded.ok);
  for (const { fields } of decoded.value) {
    const text = JSON.stringify(fields);
    assert.equal(JSON.stringify(decodeFieldSet(JSON.parse(text))), text);
  }
  return decoded.value.map(({ name, fields }) => ({ name, fields }));
}

/** False for lists with duplicate keys. */
function isClear(object: JsonObject, schema: StructSchema): boolean {
  try {
    compareObjects({}, object, schema);
    fieldsOf(object, schema);
    return true;
  } catch (error) {
    if (error instanceof ItemError) return false;
    throw error;
  }
}

const write = { apiVersion: "v1", subresource: "", nowIso: "2030-01-01T00:00:00Z" };
const bare = (object: JsonObject) => withManagedFields(object, undefined);
const stored = (object: JsonObject): JsonObject =>
  deepFreeze({ ...object, metadata: { ...(object.metadata as JsonObject), uid: "u" } });

describe("server-side apply: fuzz", () => {
  for (const [seed, type] of TYPES.entries()) {
    const schema = schemaOf(type);

    test(`updates of ${type}`, () => {
      const random = seededRandom(seed);
      for (let round = 0; round < ROUNDS; round++) {
        const [first, second] = [sample(type, schema, random), sample(type, schema, random)];
        if (!isClear(first, schema) || !isClear(second, schema)) continue;
        const input = { ...write, schema };
        const live = stored(
          applyUpdate({ ...input, live: undefined, next: deepFreeze(first), manager: "a" }),
        );
        const next = applyUpdate({
          ...input,
          live,
          next: deepFreeze(stored(second)),
          manager: "b",
        });
        assert.ok(jsonEqual(bare(next), stored(second)));
        for (const { name, fields } of managersIn(next)) {
          for (const path of pathsOf(fields)) {
            assert.notEqual(valueAt(next, path, schema), undefined, `${name}: ${path.join("")}`);
          }
        }
        const { changed, removed } = compareObjects(bare(live), stored(second), schema);
        const old = managersIn(next).find(({ name }) => name === "a")?.fields ?? {};
        assert.ok(isEmptySet(intersection(old, changed)));
        assert.ok(isEmptySet(intersection(old, removed)));
        const again = applyUpdate({
          ...input,
          live: stored(next),
          next: stored(next),
          manager: "c",
        });
        assert.equal(managedFieldsOf(again), managedFieldsOf(next));
      }
    });

    test(`applies to ${type}`, () => {
      const random = seededRandom(seed + 1000);
      for (let round = 0; round < ROUNDS; round++) {
        // A part that was empty before does not come back as empty, so there is none.
        const base = normalizerOf(schema)(lean(sample(type, schema, random))) as JsonObject;
        const config = lean(sample(type, schema, random)) as JsonObject;
        if (!isClear(base, schema) || !isClear(config, schema)) continue;
        const live = stored(
          applyUpdate({ ...write, schema, live: undefined, next: deepFreeze(base), manager: "u" }),
        );
        const apply = (object: JsonObject, applied: JsonObject, force: boolean) =>
          applyPatch({
            ...write,
            schema,
            live: object,
            applied: deepFreeze(applied),
            kind: "K",
            manager: "m",
            force,
          });

        const forced = apply(live, config, true);
        assert.ok(forced.ok, forced.ok ? "" : forced.status.message);
        const after = stored(forced.value);
        assert.ok(managersIn(after).length > 0);
        const stated = fieldsOf(config, schema);
        const lost = difference(stated, fieldsOf(bare(after), schema));
        assert.ok(isEmptySet(lost), JSON.stringify(lost));
        const twice = apply(after, config, false);
        assert.ok(twice.ok && jsonEqual(twice.value, after), "an apply is done once");

        const polite = apply(live, config, false);
        if (!polite.ok) {
          assert.match(polite.status.message!, /^Apply failed with \d+ conflict/);
          continue;
        }
        const empty = { apiVersion: "v1", kind: "K", metadata: { name: "n" } };
        const undone = apply(stored(polite.value), empty, false);
        assert.ok(undone.ok);
        const normal = normalizerOf(schema)(bare(undone.value)) as JsonObject;
        const { changed, removed } = compareObjects(bare(live), normal, schema);
        assert.deepEqual([changed, removed], [{}, {}], "what was applied can be taken back");
      }
    });
  }
});
