/**
 * Damaged input for every decoder. Nothing may throw, hang or exhaust the stack; what is accepted
 * must survive being written and read again; the quick and the exact way must agree.
 */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { allTypeNames, schemaOf } from "#api/schema/from-facts.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import { finish } from "#lib/async/steps.ts";
import { type Random, seededRandom } from "#lib/random.ts";
import { decodeExactly } from "./exact-decoder.ts";
import { decodeJson, encodeJson, parseJson } from "./json.ts";
import { parseJsonTree } from "./json-tree.ts";
import { normalizerOf } from "./normalizer.ts";
import { messageEncoderOf } from "./proto-encoder.ts";
import { hasProtobuf } from "./proto-message.ts";
import { ProtoWriter } from "./proto-writer.ts";
import { decodeProtobuf, decodeWatchFrame, readEnvelope } from "./protobuf.ts";
import { damagedBytes, damagedText, randomBytes } from "./testing/fuzz.ts";
import { maximalObject } from "./testing/maximal.ts";
import { encodeYaml, yamlToJson } from "./yaml.ts";

/** How often a build server repeats what a developer's machine does once. */
const FUZZ_ROUNDS = process.env.CI === "true" ? 8 : 1;

const FAVOURITES = [
  "core.v1.Pod",
  "core.v1.Service",
  "core.v1.Secret",
  "apps.v1.Deployment",
  "apiextensions.v1.CustomResourceDefinition",
  "resource.v1.ResourceSlice",
  "meta.v1.DeleteOptions",
];
const protobufTypes = allTypeNames().filter((type) => hasProtobuf(schemaOf(type)));

const fullObjects = new Map<string, Record<string, unknown>>();

/** Half of the time a favourite, half of the time any type, with a part of its fields. */
function sample(random: Random): { schema: StructSchema; object: Record<string, unknown> } {
  const types = random.integer(2) === 0 ? FAVOURITES : protobufTypes;
  const type = types[random.integer(types.length)]!;
  const schema = schemaOf(type);
  const full = fullObjects.get(type) ?? maximalObject(schema, random.integer(1000));
  fullObjects.set(type, full);
  const kept = Object.entries(full).filter(() => random.integer(3) > 0);
  const object = normalizerOf(schema)(
    Object.fromEntries(kept.map(([k, v]) => [k, thinned(v, random)])),
  );
  return { schema, object };
}

/** Large objects would make every round slow: lists lose items, objects members. */
function thinned(value: unknown, random: Random): unknown {
  if (Array.isArray(value)) return value.slice(random.integer(2)).map((v) => thinned(v, random));
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(() => random.integer(4) === 0);
  return Object.fromEntries(kept.map(([key, member]) => [key, thinned(member, random)]));
}

describe("fuzzed codecs", () => {
  test("decoding damaged JSON ends in a value or an error", () => {
    const random = seededRandom(1);
    for (let i = 0; i < 1500 * FUZZ_ROUNDS; i++) {
      const { schema, object } = sample(random);
      const text = damagedText(encodeJson(object), random, "json");
      const decoded = decodeJson(schema, text);
      const parsed = parseJson(text);
      if (!isJson(text)) {
        assert.ok(!parsed.ok, text);
        assert.deepEqual(decoded, parsed);
        continue;
      }
      assert.ok(parsed.ok || parsed.error.endsWith("float64"), text);
      const exact = decodeExactly(schema, finish(parseJsonTree(text)));
      assert.equal(decoded.ok, exact.ok, text);
      if (!decoded.ok || !exact.ok) continue;
      assert.deepEqual(decoded.value, normalizerOf(schema)(exact.value), text);
      assert.deepEqual(decoded.strictErrors, exact.strictErrors, text);
      const again = decodeJson(schema, encodeJson(decoded.value));
      assert.deepEqual(again, { ok: true, value: decoded.value, strictErrors: [] }, text);
    }
  });

  test("JSON of random bytes", () => {
    const random = seededRandom(2);
    for (let i = 0; i < 3000 * FUZZ_ROUNDS; i++) {
      const bytes = randomBytes(random.integer(40), random);
      assert.equal(typeof parseJson(bytes).ok, "boolean");
    }
  });

  test("decoding damaged protobuf ends in a value or an error", () => {
    const random = seededRandom(3);
    for (let i = 0; i < 1500 * FUZZ_ROUNDS; i++) {
      const { schema, object } = sample(random);
      const bytes = damagedBytes(messageOf(schema, object), random);
      const decoded = decodeProtobuf(schema, bytes);
      if (!decoded.ok) {
        assert.notEqual(decoded.error, "");
        continue;
      }
      const again = decodeProtobuf(schema, messageOf(schema, decoded.value));
      assert.deepEqual(again, decoded);
    }
  });

  test("protobuf of random bytes", () => {
    const random = seededRandom(4);
    const magic = [0x6b, 0x38, 0x73, 0x00];
    for (let i = 0; i < 3000 * FUZZ_ROUNDS; i++) {
      const bytes = randomBytes(random.integer(60), random);
      const type = protobufTypes[random.integer(protobufTypes.length)]!;
      assert.equal(typeof decodeProtobuf(schemaOf(type), bytes).ok, "boolean");
      assert.equal(typeof readEnvelope(Uint8Array.of(...magic, ...bytes)).ok, "boolean");
      assert.equal(typeof decodeWatchFrame(bytes).ok, "boolean");
    }
  });

  test("YAML", () => {
    const random = seededRandom(5);
    for (let i = 0; i < 1500 * FUZZ_ROUNDS; i++) {
      const { object } = sample(random);
      const yaml = encodeYaml(object);
      const whole = yamlToJson(yaml);
      assert.ok(whole.ok, yaml);
      const text = damagedText(yaml.slice(0, 2000), random, "yaml");
      const converted = yamlToJson(text);
      if (!converted.ok) {
        assert.notEqual(converted.error, "");
        continue;
      }
      const value = parseJson(converted.json);
      assert.ok(value.ok, text);
      if (typeof value.value !== "object") continue; // readers differ on blocks at the root
      assert.deepEqual(
        yamlToJson(encodeYaml(value.value)),
        { ...converted, strictErrors: [] },
        text,
      );
    }
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function messageOf(schema: StructSchema, object: Record<string, unknown>): Uint8Array {
  const w = new ProtoWriter();
  messageEncoderOf(schema)(w, object);
  return w.finish();
}
