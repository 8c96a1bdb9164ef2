/** The request body as audit's requestObject; undefined if it cannot be decoded. */

import { decodeProtobuf, readEnvelope } from "#api/codec/protobuf.ts";
import type { YamlAsJson } from "#api/codec/yaml.ts";
import { findSchemaOfKind } from "#api/schema/from-facts.ts";
import { parseForeignJson } from "#lib/json/forged-keys.ts";
import { bodyYaml } from "../request/body-bytes.ts";
import type { ApiRequest } from "../request/request.ts";

export function requestObject({ body, headers }: ApiRequest): unknown {
  if (body.form === "object") return body.object;
  if (body.form !== "bytes") return undefined;
  const type = headers["content-type"] ?? "application/json";
  if (type.includes("protobuf")) return fromProtobuf(body.bytes);
  if (type.includes("yaml")) return fromYaml(bodyYaml(body, body.bytes));
  return parse(Buffer.from(body.bytes).toString("utf8"));
}

function fromProtobuf(bytes: Uint8Array): unknown {
  const envelope = readEnvelope(bytes);
  if (!envelope.ok) return undefined;
  const { kind, apiVersion } = envelope;
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const schema = findSchemaOfKind(group!, version!, kind);
  const decoded = schema && decodeProtobuf(schema, envelope.message);
  return decoded?.ok ? { ...(decoded.value as object), kind, apiVersion } : undefined;
}

function fromYaml(json: YamlAsJson): unknown {
  return json.ok ? parse(json.json) : undefined;
}

function parse(json: string): unknown {
  try {
    return parseForeignJson(json);
  } catch {
    return undefined;
  }
}
