/**
 * The stored form of objects, as upstream writes it: JSON or protobuf in its envelope, in the stored
 * version, without a resourceVersion. Both forms are read, whichever is written.
 */

import { encodeJson } from "#api/codec/json.ts";
import type { Kind, KubeObject } from "#api/kind.ts";
import { parseStored } from "./object-text.ts";
import type { Resources, StoredResource } from "./resources.ts";

const OPEN_BRACE = 0x7b;

export class StorageCodec {
  readonly #resources: Resources;

  constructor(resources: Resources) {
    this.#resources = resources;
  }

  encode(object: KubeObject): Uint8Array {
    const { kind, apiVersion, metadata, ...rest } = object;
    const { resourceVersion: _, selfLink: __, ...meta } = metadata;
    return Buffer.from(encodeJson({ kind, apiVersion, metadata: meta, ...rest }));
  }

  isJson(bytes: Uint8Array): boolean {
    return bytes[0] === OPEN_BRACE;
  }

  /** Whether stored JSON says that it is of the kind's own version. */
  isOfVersion(bytes: Uint8Array, kind: Kind): boolean {
    const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 200));
    return head.includes(`"apiVersion":${JSON.stringify(kind.apiVersion)},`);
  }

  /** The object in the stored version of its resource, whatever it was written in. */
  decode(resource: StoredResource, bytes: Uint8Array): KubeObject {
    const object = parseStored(bytes);
    const { kind } = resource;
    if (object.apiVersion === kind.apiVersion) return object;
    const written = this.#resources.findKind(object.apiVersion ?? "", object.kind ?? "");
    if (written?.storedAs === undefined) return { ...object, apiVersion: kind.apiVersion };
    return written.storedAs.toStored(object as never);
  }
}
