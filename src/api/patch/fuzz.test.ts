/** Hostile patches: nothing may throw, hang, exhaust the stack or change what it was given. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { applyPatch } from "#api/apply/apply.ts";
import { applyUpdate } from "#api/apply/history.testing.ts";
import { encodeJson } from "#api/codec/json.ts";
import { JSON_DEPTH_MAX } from "#api/codec/json-syntax.ts";
import { normalizerOf } from "#api/codec/normalizer.ts";
import { maximalObject } from "#api/codec/testing/maximal.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { type Random, seededRandom } from "#lib/random.ts";
import { applyJsonPatch, jsonPatchOperations } from "./json-patch.ts";
import { isObject, type JsonObject } from "./json-value.ts";
import { applyMergePatch } from "./merge-patch.ts";
import { applyStrategicMergePatch } from "./strategic-merge.ts";

/** How often a build server repeats what a developer's machine does once. */
const ROUNDS = process.env.CI === "true" ? 4000 : 200;

const schema = schemaOf("core.v1.Pod");
const pod = deepFreeze(normalizerOf(schema)(maximalObject(schema, 1))) as JsonObject;
const write = { schema, apiVersion: "v1", subresource: "", nowIso: "", manager: "m" };

const ODD_VALUES: readonly unknown[] = [
  null,
  "",
  "x",
  0,
  -1,
  1.5,
  1e300,
  true,
  [],
  {},
  [null],
  [[1]],
  [{}],
  { a: null },
  { $patch: "delete" },
  { $patch: "replace" },
  { $patch: "merge" },
  { $patch: 1 },
  [{ $patch: "replace" }],
];
const ODD_KEYS = [
  "__proto__",
  "constructor",
  "$patch",
  "$retainKeys",
  "$setElementOrder",
  "$setElementOrder/containers",
  "$deleteFromPrimitiveList/x",
  "",
  "/",
  "name",
];

/** A part of a value with some members replaced by odd ones. */
function damaged(value: unknown, random: Random): unknown {
  if (random.integer(12) === 0) return ODD_VALUES[random.integer(ODD_VALUES.length)];
  if (Array.isArray(value)) {
    return value.filter(() => random.integer(3) > 0).map((item) => damaged(item, random));
  }
  if (!isObject(value)) return value;
  const kept: [string, unknown][] = Object.entries(value)
    .filter(() => random.integer(3) === 0)
    .map(([name, member]) => [name, damaged(member, random)]);
  if (random.integer(5) === 0) {
    const key = ODD_KEYS[random.integer(ODD_KEYS.length)]!;
    kept.push([key, ODD_VALUES[random.integer(ODD_VALUES.length)]]);
  }
  return Object.fromEntries(kept);
}

function paths(value: unknown, random: Random): string {
  let path = "";
  let at = value;
  while (random.integer(4) > 0 && typeof at === "object" && at !== null) {
    const keys = Object.keys(at);
    const odd = random.integer(8) === 0;
    const key = odd
      ? ["-", "-1", "01", "9", "~01", "__proto__"][random.integer(6)]!
      : keys[random.integer(keys.length)];
    if (key === undefined) break;
    path += `/${key}`;
    at = (at as JsonObject)[key];
  }
  return path;
}

describe("fuzz", () => {
  test("strategic and plain merge patches, applies", () => {
    const random = seededRandom(1);
    for (let round = 0; round < ROUNDS; round++) {
      const patch = damaged(pod, random);
      const plain = isObject(patch) ? patch : {};
      const given = encodeJson(patch);
      const strategic = applyStrategicMergePatch(pod, plain, schema);
      assert.ok(strategic.ok || strategic.status.code! >= 400);
      const merged = applyMergePatch(pod, patch);
      assert.ok(merged.ok || merged.status.code === 400);
      const applied = { ...plain, apiVersion: "v1", kind: "Pod" };
      const result = applyPatch({ ...write, live: pod, applied, kind: "Pod", force: true });
      assert.ok(result.ok || result.status.code! >= 400);
      applyUpdate({ ...write, live: pod, next: applied });
      assert.equal(encodeJson(patch), given);
    }
  });

  test("JSON patches", () => {
    const random = seededRandom(2);
    for (let round = 0; round < ROUNDS * 5; round++) {
      const operations = Array.from({ length: 1 + random.integer(6) }, () => ({
        op: ["add", "remove", "replace", "move", "copy", "test"][random.integer(6)]!,
        path: paths(pod, random),
        from: paths(pod, random),
        value: ODD_VALUES[random.integer(ODD_VALUES.length)],
      }));
      const checked = jsonPatchOperations(operations);
      assert.ok(checked.ok);
      const patched = applyJsonPatch(pod, checked.value);
      if (patched.ok) encodeJson(patched.value);
      else assert.notEqual(patched.error, "");
    }
  });
});

describe("patches as deep as JSON may be", () => {
  const nested = (key: string) => {
    let value: unknown = { leaf: null };
    for (let i = 0; i < JSON_DEPTH_MAX - 2; i++) value = { [key]: value };
    return value as JsonObject;
  };
  const deep = nested("a");
  const revision = schemaOf("apps.v1.ControllerRevision");

  test("applyMergePatch and applyStrategicMergePatch merge them", () => {
    assert.ok(applyMergePatch({}, deep).ok);
    assert.ok(applyMergePatch(deep, deep).ok);
    assert.ok(applyStrategicMergePatch({}, deep, schema).ok);
  });
  test("an update keeps them, and server-side apply ends in a value or an error", () => {
    const live = {
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: { name: "a" },
      data: deep,
    };
    const input = { ...write, schema: revision, apiVersion: "apps/v1" };
    const created = applyUpdate({ ...input, live: undefined, next: live });
    assert.equal(JSON.stringify(created.data), JSON.stringify(deep));
    const applied = applyPatch({
      ...input,
      live: created,
      applied: live,
      kind: "ControllerRevision",
      force: false,
    });
    assert.ok(applied.ok || applied.status.code! >= 400);
  });
});

test("applyJsonPatch: ten thousand operations on one list are applied", () => {
  const operations = Array.from({ length: 10_000 }, () => ({ op: "add", path: "/a/0", value: 1 }));
  const patched = applyJsonPatch({ a: [] }, operations);
  assert.equal(patched.ok && (patched.value as { a: unknown[] }).a.length, 10_000);
});

test("applyStrategicMergePatch and server-side apply: lists of 5,000 items are merged", () => {
  const count = 5_000;
  const items = (step: number) =>
    Array.from({ length: count }, (_, i) => ({ name: `n${(i * step) % count}`, image: "x" }));
  const live = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "a" },
    spec: { containers: items(1) },
  };
  const config = { ...live, spec: { containers: items(7) } };
  assert.ok(applyStrategicMergePatch(live, config, schema).ok);
  assert.ok(applyPatch({ ...write, live, applied: config, kind: "Pod", force: true }).ok);
  const same = Array.from({ length: count }, () => ({ name: "same", image: "x" }));
  applyUpdate({ ...write, live, next: { ...live, spec: { containers: same } } });
});
