/** Objects of the server's own making to and from JSON text: always kind, apiVersion, metadata first. */
import { escapeHtml } from "#api/codec/html-escapes.ts";
import type { KubeObject } from "#api/kind.ts";

export function parseStored(bytes: Uint8Array): KubeObject {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
}

export function writeObject(object: KubeObject): Buffer {
  const { kind, apiVersion, metadata, ...rest } = object;
  return Buffer.from(escapeHtml(JSON.stringify({ kind, apiVersion, metadata, ...rest })));
}
