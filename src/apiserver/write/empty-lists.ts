/**
 * A list that a client sends empty where the type always writes one is a value that it has set, though
 * it is stored as none. Only field ownership sees the difference.
 */
import { parseJson } from "#api/codec/json.ts";
import { isObject } from "#api/patch/json-value.ts";
import type { Schema, StructSchema } from "#api/schema/schema.ts";
import { bodyYaml } from "../request/body-bytes.ts";
import type { ApiRequest } from "../request/request.ts";
import { mediaTypeOf } from "../response/negotiate.ts";

/** The object, with empty lists where the request has them and the object has none. */
export function withSentLists<T extends object>(
  object: T,
  schema: StructSchema,
  request: Pick<ApiRequest, "body" | "headers">,
): T {
  const sent = sentDocument(request);
  return sent === undefined ? object : (restore(object, sent, schema) as T);
}

function sentDocument({ body, headers }: Pick<ApiRequest, "body" | "headers">): unknown {
  if (body.form !== "bytes") return undefined;
  const text = Buffer.from(body.bytes.buffer, body.bytes.byteOffset, body.bytes.byteLength);
  if (!text.includes("[]")) return undefined;
  const type = mediaTypeOf(headers["content-type"] ?? "");
  if (type.endsWith("yaml")) {
    const json = bodyYaml(body, text);
    return json.ok ? parsed(json.json) : undefined;
  }
  // A merge patch has the shape of the object; a JSON patch is a list and restores nothing.
  return /json$|^$/.test(type) ? parsed(text) : undefined;
}

function parsed(text: string | Uint8Array): unknown {
  const document = parseJson(text);
  return document.ok ? document.value : undefined;
}

function restore(value: unknown, sent: unknown, schema: Schema): unknown {
  if (value === null && schema.shape === "list" && Array.isArray(sent) && sent.length === 0) {
    return [];
  }
  if (schema.shape === "list" && Array.isArray(value) && Array.isArray(sent)) {
    if (value.length !== sent.length) return value;
    return changed(value, (item, i) => restore(item, sent[Number(i)], schema.item));
  }
  if (!isObject(value) || !isObject(sent)) return value;
  if (schema.shape === "map") {
    return changed(value, (item, key) => restore(item, sent[key], schema.value));
  }
  if (schema.shape !== "struct") return value;
  return changed(value, (item, name) => {
    const field = schema.byName.get(name);
    return field === undefined ? item : restore(item, sent[name], field.schema);
  });
}

/** The same value if nothing in it changes. */
function changed<T extends object>(value: T, change: (inner: unknown, key: string) => unknown): T {
  let copy: Record<string, unknown> | undefined;
  for (const [key, inner] of Object.entries(value)) {
    const next = change(inner, key);
    if (next === inner) continue;
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
    copy[key] = next;
  }
  return (copy ?? value) as T;
}
