/**
 * The stored form of objects, as upstream writes it: JSON or protobuf in its envelope, in the stored
 * version, without a resourceVersion. Both forms are read, whichever is written.
 */
import { escapeHtml } from "#api/codec/html-escapes.ts";
import { encodeJson } from "#api/codec/json.ts";
import { decodeProtobuf, encodeProtobuf, readEnvelope } from "#api/codec/protobuf.ts";
import type { Kind, KubeObject } from "#api/kind.ts";
import { objectOf } from "#api/members.ts";
import { findSchemaOfKind } from "#api/schema/from-facts.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import { StoreError } from "#store/contract.ts";
import type { KindRegistry } from "../registry/kind-registry.ts";
import { parseStored } from "./object-text.ts";
import type { StoredResource } from "./resources.ts";

const OPEN_BRACE = 0x7b;

export type StoredForm = "json" | "protobuf";

export class StorageCodec {
  readonly #resources: KindRegistry;
  readonly #form: StoredForm;
  readonly #beginnings = new WeakMap<Kind, string>();

  constructor(resources: KindRegistry, form: StoredForm) {
    this.#resources = resources;
    this.#form = form;
  }

  encode(object: KubeObject): Uint8Array {
    const schema = this.#form === "protobuf" ? this.#protobufSchema(object) : undefined;
    return schema === undefined
      ? this.encodeAsJson(object)
      : encodeProtobuf(schema, withoutVersion(object));
  }

  encodeAsJson(object: KubeObject): Uint8Array {
    const stored = isStoredForm(object) ? object : withoutVersion(object);
    const text = escapeHtml(encodeJson(stored));
    // Its own memory, not a slice of the shared pool: the cache keeps it as long as the object.
    const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
    bytes.write(text);
    return bytes;
  }

  isJson(bytes: Uint8Array): boolean {
    return bytes[0] === OPEN_BRACE;
  }

  /** Whether a stored object says that it is of the kind's own version. */
  isOfVersion(bytes: Uint8Array, kind: Kind): boolean {
    if (!this.isJson(bytes)) {
      const envelope = readEnvelope(bytes);
      return envelope.ok && envelope.apiVersion === kind.apiVersion;
    }
    if (beginsWith(bytes, this.#beginningOf(kind))) return true;
    const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 200));
    return head.includes(`"apiVersion":${JSON.stringify(kind.apiVersion)},`);
  }

  /** Of objects of this kind and version, as this server writes them. */
  #beginningOf(kind: Kind): string {
    const known = this.#beginnings.get(kind);
    if (known !== undefined) return known;
    const { apiVersion, names } = kind;
    const text = JSON.stringify({ kind: names.kind, apiVersion });
    const beginning = `${text.slice(0, -1)},`;
    this.#beginnings.set(kind, beginning);
    return beginning;
  }

  /**
   * The object in the stored version of its resource, whatever it was written in; unless only a webhook
   * can convert it: then it stays in the version that it was written in. What is stored as protobuf may
   * be upstream's, which stores some fields empty that defaults fill when they are read.
   */
  decode(resource: StoredResource, bytes: Uint8Array): KubeObject {
    const { kind } = resource;
    const isJson = this.isJson(bytes);
    const object = isJson ? parseStored(bytes, kind) : decodeEnvelope(bytes);
    const written = this.#writtenKind(resource, object);
    if (!isJson) written?.defaults?.(object);
    if (object.apiVersion === kind.apiVersion) return object;
    if (written?.storedAs === undefined) {
      return kind.fromOldVersion?.(object) ?? { ...object, apiVersion: kind.apiVersion };
    }
    return written.storedAs.remote === undefined ? written.storedAs.toStored(object) : object;
  }

  #writtenKind({ kind, versions }: StoredResource, object: KubeObject): Kind | undefined {
    const { apiVersion = "" } = object;
    if (apiVersion === kind.apiVersion) return kind;
    const written = versions.find((version) => version.apiVersion === apiVersion);
    return written ?? this.#resources.findKind(apiVersion, object.kind ?? "");
  }

  /** Undefined for kinds that are stored as JSON whatever the form of the others is. */
  #protobufSchema({ apiVersion = "", kind = "" }: KubeObject): StructSchema | undefined {
    const found = this.#resources.findKind(apiVersion, kind);
    if (found === undefined || found.storedForm === "json") return undefined;
    return found.schema();
  }
}

const FIRST = ["kind", "apiVersion", "metadata"];

/** A new object that is finished needs no copy to be written. */
function isStoredForm(object: KubeObject): boolean {
  const { resourceVersion, selfLink } = object.metadata;
  if (resourceVersion !== undefined || selfLink !== undefined) return false;
  let index = 0;
  for (const name in object) {
    if (name !== FIRST[index] || object[name as keyof KubeObject] === undefined) return false;
    index += 1;
    if (index === FIRST.length) return true;
  }
  return false;
}

function withoutVersion(object: KubeObject): { kind: string; apiVersion: string } {
  const { kind = "", apiVersion = "", metadata, ...rest } = object;
  const { resourceVersion: _, selfLink: __, ...meta } = metadata;
  const stored = { kind, apiVersion, metadata: meta, ...rest };
  return stored;
}

function decodeEnvelope(bytes: Uint8Array): KubeObject {
  const envelope = readEnvelope(bytes);
  if (!envelope.ok) throw new StoreError({ code: "Corrupt" }, envelope.error);
  const { apiVersion, kind, message } = envelope;
  const slash = apiVersion.indexOf("/");
  const group = apiVersion.slice(0, Math.max(0, slash));
  const schema = findSchemaOfKind(group, apiVersion.slice(slash + 1), kind);
  if (schema === undefined) {
    throw new StoreError(
      { code: "Corrupt" },
      `stored object of unknown kind ${apiVersion} ${kind}`,
    );
  }
  const decoded = decodeProtobuf(schema, message);
  if (!decoded.ok) throw new StoreError({ code: "Corrupt" }, decoded.error);
  const { kind: _, apiVersion: __, ...rest } = decoded.value;
  return objectOf({ kind, apiVersion, ...rest });
}

function beginsWith(bytes: Uint8Array, ascii: string): boolean {
  for (let index = 0; index < ascii.length; index++) {
    if (bytes[index] !== ascii.charCodeAt(index)) return false;
  }
  return true;
}
