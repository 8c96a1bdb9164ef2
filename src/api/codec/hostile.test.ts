/** Input made to be slow: what costs more than its length would not end within a test's time. */
import assert from "node:assert/strict";
import { test } from "vitest";
import { schemaOf } from "#api/schema/from-facts.ts";
import { decodeJson, parseJson } from "./json.ts";
import { decodeProtobuf } from "./protobuf.ts";
import { encodeYaml, yamlToJson } from "./yaml.ts";

const MEGABYTE = 1_000_000;

const rows: readonly (readonly [string, () => { readonly ok: boolean }, boolean])[] = [
  [
    "JSON codec: a number of a million digits is refused",
    () => decodeJson(schemaOf("core.v1.Pod"), `{"spec":{"priority":${"9".repeat(MEGABYTE)}}}`),
    false,
  ],
  [
    "parseJson: a number of a million digits is refused",
    () => parseJson(`[${"9".repeat(MEGABYTE)}]`),
    false,
  ],
  [
    "JSON codec: a quantity of a million digits is refused",
    () =>
      decodeJson(
        schemaOf("core.v1.ResourceQuota"),
        `{"spec":{"hard":{"cpu":"${"9".repeat(MEGABYTE)}"}}}`,
      ),
    false,
  ],
  [
    "JSON codec: a megabyte of base64 in a Secret is read",
    () => decodeJson(schemaOf("core.v1.Secret"), `{"data":{"a":"${"YWJj".repeat(MEGABYTE / 4)}"}}`),
    true,
  ],
  [
    "JSON codec: a key that is repeated a hundred thousand times is read",
    () =>
      decodeJson(
        schemaOf("core.v1.ConfigMap"),
        `{"data":{${'"k":"1",'.repeat(MEGABYTE / 10)}"z":""}}`,
      ),
    true,
  ],
  ["the same in YAML", () => yamlToJson("k: 1\n".repeat(MEGABYTE / 10)), true],
  [
    "a hexadecimal number of a megabyte in YAML",
    () => yamlToJson(`k: 0x${"f".repeat(MEGABYTE)}`),
    true,
  ],
  ["empty lines of YAML", () => yamlToJson("\n".repeat(MEGABYTE)), true],
  ["open brackets of YAML", () => yamlToJson("[".repeat(MEGABYTE)), false],
  [
    "open groups of protobuf",
    () =>
      decodeProtobuf(
        schemaOf("core.v1.ConfigMap"),
        Uint8Array.from({ length: MEGABYTE }, (_, i) => (i % 2 === 0 ? 0x9b : 0x06)),
      ),
    false,
  ],
  [
    "a map of twenty thousand keys as YAML",
    () => ({
      ok:
        encodeYaml(Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, "v"])))
          .length >
        MEGABYTE / 10,
    }),
    true,
  ],
];
for (const [name, read, ok] of rows) test(name, () => assert.equal(read().ok, ok));
