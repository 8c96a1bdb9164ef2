/** Objects of the server's own making to and from JSON text: always kind, apiVersion, metadata first. */
import { escapeHtml } from "#api/codec/html-escapes.ts";
import { encodeJson, parseJson } from "#api/codec/json.ts";
import type { Kind, KubeObject } from "#api/kind.ts";

/** As many as a number may need that is not exact any more. */
const MANY_DIGITS = /\d{16}/;

export function parseStored(bytes: Uint8Array, kind: Kind): KubeObject {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  return parseStoredText(text, kind);
}

/** Whole numbers in JSON of others keep their digits: beyond 2^53 they are bigints. */
export function parseStoredText(text: string, { holdsFreeJson }: Kind): KubeObject {
  if (holdsFreeJson && MANY_DIGITS.test(text)) {
    const parsed = parseJson(text);
    if (parsed.ok) return parsed.value as KubeObject;
  }
  return JSON.parse(text);
}

export function writeObject(object: KubeObject): Buffer {
  const { kind, apiVersion, metadata, ...rest } = object;
  return Buffer.from(escapeHtml(encodeJson({ kind, apiVersion, metadata, ...rest })));
}
