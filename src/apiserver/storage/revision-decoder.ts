/**
 * Stored bytes as revisions.
 *
 * Promises:
 * 1. An own write that comes back in an event is not parsed again: its revision has the value that was
 *    written, for the watchers that send it in this turn of the event loop or the next. Kept for longer,
 *    values of new objects would survive collections of the young generation, which costs more than
 *    parsing the few that are read later. Who updates an object often does so again: the values of the
 *    latest UPDATES_MAX updates stay parsed.
 * 2. What cannot be decrypted throws EncryptionError, what is no object of the resource StoreError
 *    (Corrupt).
 */
import { parseJson } from "#api/codec/json.ts";
import type { Kind, KubeObject } from "#api/kind.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { messageOf } from "#lib/caught.ts";
import { Ring } from "#lib/collections/ring.ts";
import { StoreError } from "#store/contract.ts";
import type { EncryptedStore } from "../encryption/encrypted-store.ts";
import { READ_ENCRYPTED } from "../encryption/identity.ts";
import { EncryptionError, isEncrypted } from "../encryption/transformer.ts";
import type { StoredResource } from "./resources.ts";
import { Revision } from "./revision.ts";
import { SharedParts } from "./shared-parts.ts";
import type { StorageCodec } from "./storage-codec.ts";

/** About as many as are under way at once. */
const UPDATES_MAX = 128;

export interface RevisionDecoderOptions {
  readonly codec: StorageCodec;
  readonly encryption?: EncryptedStore | undefined;
  /** The store is in this process: it brings back the very bytes that were written. */
  readonly local: boolean;
}

export interface OwnWrite {
  readonly object: KubeObject;
  /** As it is stored. */
  readonly bytes: Uint8Array;
  /** As it is served; the same bytes where objects are stored as JSON. */
  readonly json: Uint8Array;
  /** It replaces nothing. */
  readonly isNew: boolean;
  /** What became of it, once it has come back. */
  revision: Revision | undefined;
}

export class RevisionDecoder {
  readonly #options: RevisionDecoderOptions;
  /**
   * Own writes under way, so that the event that brings one back need not be parsed. Weak, though each
   * is taken out again: what a map has outgrown refers to what came after it, so that writes of
   * long ago would make those of now grow old.
   */
  readonly #written = new WeakMap<Uint8Array, OwnWrite>();
  /**
   * The same by key, for a remote store, which brings back other bytes of the same content. Of several
   * writes of one key at the same time only the last is known; the others are parsed.
   */
  readonly #writtenKeys = new Map<string, OwnWrite>();
  /** New objects that came back in this turn of the event loop. */
  #created: Revision[] = [];
  /** The latest updates, whose values stay parsed. */
  readonly #updated = new Ring<Revision>(UPDATES_MAX);
  readonly #parts = new SharedParts();

  constructor(options: RevisionDecoderOptions) {
    this.#options = options;
  }

  /** The write is sent to the store now. */
  begin(key: string, own: OwnWrite): void {
    this.#written.set(own.bytes, own);
    if (!this.#options.local) this.#writtenKeys.set(key, own);
  }

  /** The write has come back, or failed. */
  end(key: string, own: OwnWrite): void {
    this.#written.delete(own.bytes);
    if (this.#writtenKeys.get(key) === own) this.#writtenKeys.delete(key);
  }

  /** `isKept`: most of the memory that `stored` is a part of stays in use, so that it need not be copied. */
  decode(
    resource: StoredResource,
    key: string,
    number: number,
    stored: Uint8Array,
    isKept = false,
  ): Revision {
    try {
      return this.#decode(resource, key, number, stored, isKept);
    } catch (error) {
      if (error instanceof EncryptionError || error instanceof StoreError) throw error;
      throw new StoreError({ code: "Corrupt" }, undecodableText(stored, error));
    }
  }

  #decode(
    resource: StoredResource,
    key: string,
    number: number,
    stored: Uint8Array,
    isKept: boolean,
  ): Revision {
    const { codec } = this.#options;
    const { kind } = resource;
    const own = this.#written.get(stored) ?? this.#ownWrite(key, stored);
    if (own !== undefined) {
      const { json, object } = own;
      own.revision = Revision.fromWrite(kind, key, number, json, object, this.#parts);
      if (own.isNew) this.#letGoSoon(own.revision);
      else this.#updated.push(own.revision)?.letGo();
      return own.revision;
    }
    if (isEncrypted(stored)) {
      throw this.#options.encryption?.faultOf(stored) ?? new EncryptionError(READ_ENCRYPTED);
    }
    const isOfVersion = codec.isOfVersion(stored, kind);
    if (kind.custom !== undefined && isOfVersion && codec.isJson(stored)) {
      JSON.parse(Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength).toString()); // throws
      const raw = Revision.fromRawJson(kind, key, number, stored);
      if (raw !== undefined) return raw;
    }
    if (kind.custom !== undefined) {
      const object = codec.decode(resource, stored);
      const written = writtenKind(resource, object);
      const current = written.custom?.fromStore(object) ?? object;
      if (current !== object || !isOfVersion) {
        return Revision.fromValue(written, key, number, current, true);
      }
    }
    if (isOfVersion && codec.isJson(stored)) {
      return Revision.fromJson(kind, key, number, stored, { parts: this.#parts, isKept });
    }
    return Revision.fromValue(kind, key, number, codec.decode(resource, stored), !isOfVersion);
  }

  /** Drops the parsed value when the watches that send at the end of this turn have sent. */
  #letGoSoon(revision: Revision): void {
    this.#created.push(revision);
    if (this.#created.length === 1) void this.#letGo();
  }

  async #letGo(): Promise<void> {
    await nextTurn();
    const created = this.#created;
    this.#created = [];
    await nextTurn();
    for (const revision of created) revision.letGo();
  }

  /** The write under way that these bytes come from. */
  #ownWrite(key: string, stored: Uint8Array): OwnWrite | undefined {
    const own = this.#writtenKeys.get(key);
    return own !== undefined && Buffer.compare(own.bytes, stored) === 0 ? own : undefined;
  }
}

/** Upstream's words for what is no JSON. */
function undecodableText(stored: Uint8Array, error: unknown): string {
  const parsed = parseJson(Buffer.from(stored).toString());
  if (parsed.ok) return messageOf(error);
  return `couldn't get version/kind; json parse error: ${parsed.error}`;
}

/** The version that a decoded object is in: the stored one, unless a webhook has yet to convert it. */
function writtenKind({ kind, versions }: StoredResource, { apiVersion }: KubeObject): Kind {
  if (apiVersion === kind.apiVersion) return kind;
  return versions.find((one) => one.apiVersion === apiVersion) ?? kind;
}
