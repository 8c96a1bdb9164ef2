import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { decodeProtobuf, readEnvelope } from "#api/codec/protobuf.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import { CONFIG_MAPS, configMap, startTestApi } from "../api.testing.ts";
import type { ObjectList } from "./answer.ts";
import { jsonText, type ListText, protobufText } from "./list-text.ts";

async function listOf(count: number, size = 10): Promise<ObjectList> {
  await using t = await startTestApi();
  for (let n = 0; n < count; n++) {
    const body = configMap(`c${String(n).padStart(3, "0")}`, { data: { k: "ü".repeat(size) } });
    await t.want(201, "POST", CONFIG_MAPS, { body });
  }
  const { answer } = await t.ask("GET", CONFIG_MAPS);
  assert.ok(answer.body.form === "list");
  return answer.body.list;
}

/** As it is sent: through one buffer that is smaller than most items. */
function inChunks(text: ListText): Buffer {
  const reader = text.reader();
  const buffer = Buffer.alloc(100);
  const chunks: Buffer[] = [];
  for (let used = reader.read(buffer); used > 0; used = reader.read(buffer)) {
    chunks.push(Buffer.from(buffer.subarray(0, used)));
  }
  return Buffer.concat(chunks);
}

const sizes = [
  { name: "an empty list", count: 0 },
  { name: "one item", count: 1 },
  { name: "a few", count: 5 },
  { name: "items that end in the middle of a chunk", count: 40, size: 9_000 },
  { name: "an item larger than a chunk", count: 2, size: 400_000 },
];

describe("a LIST response in chunks", () => {
  for (const { name, count, size } of sizes) {
    test(`${name}: JSON and protobuf decode to the same items`, async () => {
      const list = await listOf(count, size);
      const want = list.items.map(({ value }) => value.metadata.name);

      const json = jsonText(list);
      const text = inChunks(json);
      assert.deepEqual(text, json.whole());
      assert.equal(text.length, json.length);
      const parsed = JSON.parse(text.toString());
      assert.deepEqual(
        parsed.items.map((item: typeof parsed) => item.metadata.name),
        want,
      );
      assert.equal(parsed.metadata.resourceVersion, list.resourceVersion);

      const protobuf = protobufText(list);
      const bytes = inChunks(protobuf);
      assert.deepEqual(bytes, protobuf.whole());
      assert.equal(bytes.length, protobuf.length);
      const envelope = readEnvelope(bytes);
      assert.ok(envelope.ok);
      assert.deepEqual([envelope.kind, envelope.apiVersion], ["ConfigMapList", "v1"]);
      const decoded = decodeProtobuf(schemaOf("core.v1.ConfigMapList"), envelope.message);
      assert.ok(decoded.ok);
      const { items, metadata } = decoded.value as typeof parsed;
      assert.deepEqual(
        (items ?? []).map((item: typeof parsed) => item.metadata.name),
        want,
      );
      assert.deepEqual((items ?? [])[0]?.data, parsed.items[0]?.data);
      assert.equal(metadata.resourceVersion, list.resourceVersion);
    });
  }
});
