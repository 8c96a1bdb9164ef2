/**
 * The stored text of an object: it begins with kind, apiVersion and metadata, in that order, and the
 * resourceVersion follows the uid. So it can be found and replaced without parsing.
 */
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";

const KIND = '{"kind":"';
const API_VERSION = '","apiVersion":"';
export const META = '"metadata":{';
/** Quotes inside values are escaped, so this cannot stand in a name before it. */
const UID = '"uid":"';
export const VERSION = ',"resourceVersion":"';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Where things stand in a text. */
export interface Places {
  readonly metadata: number;
  /** The bytes of the resourceVersion field; empty if there is none, and it would stand there. */
  readonly versionStart: number;
  readonly versionEnd: number;
}

/** Undefined if the text has not the form that we write. */
export function placesIn(text: Buffer): Places | undefined {
  const metadata = metaStart(text);
  const uid = metadata < 0 ? -1 : find(text, UID, metadata);
  const versionStart = uid < 0 ? 0 : plainEnd(text, uid + UID.length) + 1;
  if (versionStart === 0) return undefined;
  const isThere = standsAt(text, versionStart, VERSION);
  const versionEnd = isThere
    ? text.indexOf(QUOTE, versionStart + VERSION.length) + 1
    : versionStart;
  return { metadata, versionStart, versionEnd };
}

/** Where metadata begins if kind and apiVersion stand before it, as we write them; otherwise -1. */
function metaStart(text: Buffer): number {
  if (!standsAt(text, 0, KIND)) return -1;
  const kindEnd = plainEnd(text, KIND.length);
  if (kindEnd < 0 || !standsAt(text, kindEnd, API_VERSION)) return -1;
  const end = plainEnd(text, kindEnd + API_VERSION.length);
  return end >= 0 && standsAt(text, end, `",${META}`) ? end + 2 : -1;
}

/** Where a string without escapes ends; -1 if it has some. */
function plainEnd(text: Buffer, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === QUOTE) return at;
    if (text[at] === BACKSLASH) return -1;
  }
  return -1;
}

// What is looked for is near: a loop is there before a call into the runtime has begun.
function find(text: Buffer, what: string, from: number): number {
  for (let at = from; at + what.length <= text.length; at++) {
    if (standsAt(text, at, what)) return at;
  }
  return -1;
}

function standsAt(text: Buffer, at: number, what: string): boolean {
  for (let index = 0; index < what.length; index++) {
    if (text[at + index] !== what.charCodeAt(index)) return false;
  }
  return true;
}

/** The resourceVersion stands behind the uid, as upstream writes it. */
export function numbered(object: KubeObject, number: number): KubeObject {
  const { kind, apiVersion, metadata, ...rest } = object;
  const meta: Record<string, unknown> = {};
  const version = number === 0 ? undefined : String(number);
  const behind = metadata.uid === undefined ? "" : "uid";
  for (const name in metadata) {
    if (name !== "resourceVersion") meta[name] = metadata[name as keyof ObjectMeta];
    if (name === behind && version !== undefined) meta.resourceVersion = version;
  }
  if (behind === "" && version !== undefined) meta.resourceVersion = version;
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(apiVersion === undefined ? {} : { apiVersion }),
    metadata: meta as ObjectMeta,
    ...rest,
  };
}
