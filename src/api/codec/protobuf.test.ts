import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { allTypeNames, schemaOf } from "#api/schema/from-facts.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import { bytesOf, bytesToBase64 } from "./base64.ts";
import { decodeJson, encodeJson } from "./json.ts";
import { JSON_DEPTH_MAX } from "./json-syntax.ts";
import { messageEncoderOf } from "./proto-encoder.ts";
import { hasProtobuf } from "./proto-message.ts";
import { ProtoWriter } from "./proto-writer.ts";
import {
  decodeProtobuf,
  decodeWatchFrame,
  encodeProtobuf,
  encodeWatchFrame,
  readEnvelope,
} from "./protobuf.ts";
import { maximalObject } from "./testing/maximal.ts";

const protobufTypes = allTypeNames().filter((type) => hasProtobuf(schemaOf(type)));

test("every built-in type survives JSON, protobuf and JSON again", () => {
  assert.ok(protobufTypes.length > 800, `${protobufTypes.length} types`);
  for (const type of protobufTypes) {
    const schema = schemaOf(type);
    const original = maximalObject(schema);
    const text = encodeJson(original);
    const fromJson = decodeJson(schema, text);
    assert.ok(fromJson.ok && fromJson.strictErrors.length === 0, type);
    assert.equal(encodeJson(fromJson.value), text, `${type}: its normal form`);

    const fromBytes = decodeProtobuf(schema, messageOf(schema, fromJson.value));
    assert.ok(fromBytes.ok, `${type}: ${fromBytes.ok || fromBytes.error}`);
    const { kind, apiVersion, ...rest } = fromJson.value;
    assert.deepEqual(fromBytes.value, isKind(schema) ? rest : fromJson.value, type);
  }
});

test("protobuf codec: an empty object survives too", () => {
  for (const type of protobufTypes) {
    const schema = schemaOf(type);
    const empty = decodeJson(schema, "{}");
    assert.ok(empty.ok);
    assert.deepEqual(decodeProtobuf(schema, messageOf(schema, empty.value)), empty, type);
  }
});

function isKind(schema: StructSchema): boolean {
  return schema.byName.get("kind")?.number === 0;
}

/** Without the envelope, which only objects with a kind have. */
function messageOf(schema: StructSchema, object: Record<string, unknown>): Uint8Array {
  if (isKind(schema)) {
    const envelope = readEnvelope(encodeProtobuf(schema, object));
    assert.ok(envelope.ok);
    const { kind = "", apiVersion = "" } = object;
    assert.deepEqual([envelope.kind, envelope.apiVersion], [kind, apiVersion]);
    return envelope.message;
  }
  const w = new ProtoWriter();
  messageEncoderOf(schema)(w, object);
  return w.finish();
}

describe("protobuf codec: bytes", () => {
  // What clients send: a ConfigMap p with data and binaryData.
  const configMap = "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEhkKAwoBcBIGCgFrEgF2GgoKA2JpbhIDAAECGgAiAA==";

  test("of a request are read", () => {
    const envelope = readEnvelope(bytesOf(configMap));
    assert.ok(envelope.ok);
    assert.deepEqual([envelope.apiVersion, envelope.kind], ["v1", "ConfigMap"]);
    assert.deepEqual(decodeProtobuf(schemaOf("core.v1.ConfigMap"), envelope.message), {
      ok: true,
      value: { metadata: { name: "p" }, data: { k: "v" }, binaryData: { bin: "AAEC" } },
      strictErrors: [],
    });
  });

  test("of an answer hold every zero, in field order", () => {
    const object = { kind: "Status", apiVersion: "v1", metadata: {}, code: 404 };
    const bytes = encodeProtobuf(schemaOf("meta.v1.Status"), object);
    const want = [
      "6b387300", // magic
      "0a0c 0a027631 1206537461747573", // v1, Status
      "1211", // the message
      "0a06 0a00 1200 1a00", // metadata: three empty texts
      "1200 1a00 2200", // status, message, reason
      "309403", // code
      "1a00 2200", // no encoding, no content type
    ];
    assert.equal(Buffer.from(bytes).toString("hex"), want.join("").replaceAll(" ", ""));
  });

  test("of packed and of single numbers mean the same", () => {
    const schema = schemaOf("core.v1.PodPortForwardOptions");
    for (const bytes of [
      [0x0a, 3, 1, 2, 3],
      [0x08, 1, 0x08, 2, 0x08, 3],
    ]) {
      const decoded = decodeProtobuf(schema, Uint8Array.from(bytes));
      assert.ok(decoded.ok);
      assert.deepEqual(decoded.value.ports, [1, 2, 3]);
    }
  });

  test("that no one knows are passed over", () => {
    const known = [0x0a, 3, 0x0a, 1, 0x70];
    const unknown = [
      0x9a, 0x06, 2, 0xff, 0xff, 0x98, 0x06, 0x80, 1, 0x9b, 0x06, 0x08, 1, 0x9c, 0x06,
    ];
    const decoded = decodeProtobuf(
      schemaOf("core.v1.ConfigMap"),
      Uint8Array.from([...unknown, ...known]),
    );
    assert.deepEqual(decoded, { ok: true, value: { metadata: { name: "p" } }, strictErrors: [] });
  });

  test("of a field that occurs twice are merged", () => {
    const bytes = [0x0a, 3, 0x0a, 1, 0x70, 0x0a, 3, 0x1a, 1, 0x6e];
    const decoded = decodeProtobuf(schemaOf("core.v1.ConfigMap"), Uint8Array.from(bytes));
    assert.ok(decoded.ok);
    assert.deepEqual(decoded.value.metadata, { name: "p", namespace: "n" });
  });
});

describe("protobuf codec: bad bytes", () => {
  const rows: readonly (readonly [string, readonly number[], string])[] = [
    ["a length beyond the end", [0x0a, 0x7f], "unexpected EOF"],
    ["half a varint", [0x0a, 0x80], "unexpected EOF"],
    ["an endless varint", Array(12).fill(0xff), "proto: integer overflow"],
    ["a wrong wire type", [0x08, 1], "proto: wrong wireType = 0 for field number 1"],
    ["field number zero", [0x02, 0], "proto: illegal tag 0 (wire type 2)"],
    ["an end without a group", [0x9c, 0x06], "proto: unexpected end of group"],
    ["a group without an end", [0x9b, 0x06], "unexpected EOF"],
    ["a wire type that does not exist", [0x9e, 0x06], "proto: illegal wireType 6"],
  ];
  for (const [name, bytes, error] of rows) {
    test(name, () => {
      const decoded = decodeProtobuf(schemaOf("core.v1.ConfigMap"), Uint8Array.from(bytes));
      assert.deepEqual(decoded, { ok: false, error });
    });
  }

  test("a text that is no quantity is refused in the words of JSON", () => {
    const bad = encodeProtobuf(schemaOf("core.v1.ResourceQuota"), {
      spec: { hard: { cpu: "abc" } },
    } as object);
    const envelope = readEnvelope(bad);
    assert.ok(envelope.ok);
    const decoded = decodeProtobuf(schemaOf("core.v1.ResourceQuota"), envelope.message);
    assert.ok(!decoded.ok);
    assert.match(decoded.error, /^quantities must match/);
  });

  test("a schema that nests too deep", () => {
    const schema = schemaOf("apiextensions.v1.JSONSchemaProps");
    const nested = (depth: number) => {
      let message: number[] = [];
      for (let i = 0; i < depth; i++) {
        message = [0xe2, 0x01, ...lengthOf(message.length), ...message];
      }
      return Uint8Array.from(message);
    };
    assert.equal(decodeProtobuf(schema, nested(JSON_DEPTH_MAX)).ok, true);
    const error = "proto: exceeded max depth";
    assert.deepEqual(decodeProtobuf(schema, nested(JSON_DEPTH_MAX + 1)), { ok: false, error });
  });

  const envelopes: readonly (readonly [string, string])[] = [
    ["", "empty data"],
    ["k8s\0", "empty body"],
    [
      "nope",
      "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
    ],
    ["k8s\0\x0a\x7f", "unexpected EOF"],
  ];
  for (const [text, error] of envelopes) {
    test(`no envelope: ${JSON.stringify(text)}`, () => {
      assert.deepEqual(readEnvelope(new TextEncoder().encode(text)), { ok: false, error });
    });
  }
});

test("a frame of a watch", () => {
  const object = encodeProtobuf(schemaOf("core.v1.Pod"), { kind: "Pod", apiVersion: "v1" });
  const frame = encodeWatchFrame("ADDED", object);
  const length = new DataView(frame.buffer, frame.byteOffset).getUint32(0);
  assert.equal(length, frame.length - 4);
  const decoded = decodeWatchFrame(frame.subarray(4));
  assert.ok(decoded.ok);
  assert.equal(decoded.type, "ADDED");
  assert.equal(bytesToBase64(decoded.object), bytesToBase64(object));
  assert.equal(decodeWatchFrame(frame.subarray(4, 12)).ok, false);
});

function lengthOf(length: number): number[] {
  return length < 0x80 ? [length] : [(length & 0x7f) | 0x80, ...lengthOf(length >>> 7)];
}

describe("limits of a message", () => {
  const limits = { values: 20, listObjects: 5 };
  const pod = (containers: number, labels: number) => ({
    metadata: {
      labels: Object.fromEntries(Array.from({ length: labels }, (_, n) => [`k${n}`, "v"])),
    },
    spec: { containers: Array.from({ length: containers }, (_, n) => ({ name: `c${n}` })) },
  });
  const rows = [
    [5, 15, undefined],
    [6, 0, "limit is 5 objects in lists"],
    [5, 16, "limit is 20 values"],
  ] as const;
  for (const [containers, labels, error] of rows) {
    test(`${containers} containers and ${labels} labels: ${error ?? "read"}`, () => {
      const schema = schemaOf("core.v1.Pod");
      const message = messageOf(schema, pod(containers, labels));
      const decoded = decodeProtobuf(schema, message, limits);
      assert.deepEqual(
        decoded.ok ? undefined : [decoded.error, decoded.isExcess],
        error && [error, true],
      );
      assert.ok(decodeProtobuf(schema, message).ok);
    });
  }
});
