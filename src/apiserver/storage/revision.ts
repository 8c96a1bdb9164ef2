/**
 * One object at one revision: JSON bytes with its resourceVersion inside, made once, and the parsed,
 * deeply frozen value, made when it is first asked for. GET, LIST and every watcher send the same
 * bytes; callers in the same process share the same value. A value is several times larger than its
 * bytes, and many are never read: it is held only while it is in use, and parsed again on demand.
 * What was just written need not be parsed until `letGo`. Where memory is short the text is dropped
 * instead, while the value is in use, and made again whenever it is sent (`dropText`).
 *
 * A custom resource is read as the schema of now says: without unknown fields, with defaults. That is done
 * when the object is first used (`normalize`), because most schemas and objects are not used at the start.
 *
 * The text always begins with kind, apiVersion and metadata, in that order, and the resourceVersion
 * follows the uid. So an item of a list (which has no kind and apiVersion of its own) is the tail of
 * the text, and another resourceVersion is put in without parsing.
 */
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import type { Kind, KubeObject } from "#api/kind.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { parseStored, writeObject } from "./object-text.ts";
import type { SharedParts } from "./shared-parts.ts";

const KIND = '{"kind":"';
const API_VERSION = '","apiVersion":"';
const META = '"metadata":{';
/** Quotes inside values are escaped, so this cannot stand in a name before it. */
const UID = '"uid":"';
const VERSION = ',"resourceVersion":"';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LINE_END = 0x0a;
/** Larger objects are few, and looking for parts that others have takes longer than it saves. */
const SHARED_BYTES_MAX = 32 << 10;

export class Revision {
  /** The version that the text is written in. */
  readonly kind: Kind;
  readonly key: string;
  /** 0: the outcome of a dry run, which has no resourceVersion. */
  readonly number: number;
  #isStale: boolean;
  /** It has been read from the store, and not yet compared with its schema. */
  #isRaw = false;
  /** As long as it was in the store, if `normalize` changed it: sizes in caches add up. */
  #rawBytes = 0;
  /** The text and a line end. */
  #line: Buffer | undefined;
  /** Length of the text that was dropped; 0 if none was. */
  #droppedBytes = 0;
  #itemStart = 0;
  /** Where the digits of the resourceVersion begin. */
  #versionStart = 0;
  /** There is no text yet that it could be read from, or it was just written. */
  #value: KubeObject | undefined;
  /** The value, while it is in use elsewhere. */
  #shared: WeakRef<KubeObject> | undefined;
  /** The value as it was just written, without its resourceVersion. Not shared. */
  #written: KubeObject | undefined;
  /** The same object in other versions, by apiVersion. */
  #views: Map<string, Revision> | undefined;
  /** Where the value shares its parts with those of other objects. */
  readonly #parts: SharedParts | undefined;

  private constructor(
    kind: Kind,
    key: string,
    number: number,
    isStale = false,
    parts: SharedParts | undefined = undefined,
  ) {
    this.kind = kind;
    this.key = key;
    this.number = number;
    this.#isStale = isStale;
    this.#parts = parts;
  }

  /** From stored JSON, which has no resourceVersion. */
  static fromJson(
    kind: Kind,
    key: string,
    number: number,
    stored: Uint8Array,
    parts?: SharedParts,
  ): Revision {
    const revision = new Revision(kind, key, number, false, parts);
    if (!revision.#inject(asBuffer(stored))) {
      return Revision.fromValue(kind, key, number, parseStored(stored, kind));
    }
    return revision;
  }

  /**
   * From stored JSON of a custom resource in its stored version. Undefined unless it has the form that
   * this server writes.
   */
  static fromRawJson(
    kind: Kind,
    key: string,
    number: number,
    stored: Uint8Array,
  ): Revision | undefined {
    const revision = new Revision(kind, key, number);
    if (!revision.#inject(asBuffer(stored))) return undefined;
    revision.#isRaw = true;
    return revision;
  }

  /** From a value; its resourceVersion is replaced. The value is frozen from now on. */
  static fromValue(
    kind: Kind,
    key: string,
    number: number,
    object: KubeObject,
    isStale = false,
  ): Revision {
    const revision = new Revision(kind, key, number, isStale);
    revision.#value = deepFreeze(numbered(object, number));
    return revision;
  }

  /** Both, for an object that was just written. */
  static fromWrite(
    kind: Kind,
    key: string,
    number: number,
    stored: Uint8Array,
    object: KubeObject,
    parts?: SharedParts,
  ): Revision {
    const revision = new Revision(kind, key, number, false, parts);
    if (!revision.#inject(asBuffer(stored))) return Revision.fromValue(kind, key, number, object);
    revision.#written = object;
    return revision;
  }

  /** The store has it in another form than it would be written in now. */
  get isStale(): boolean {
    this.normalize();
    return this.#isStale;
  }

  /** Whether `normalize` has something to do. */
  get isRaw(): boolean {
    return this.#isRaw;
  }

  /** Makes a stored custom resource what its schema says. All readers of its contents do so. */
  normalize(): void {
    if (!this.#isRaw) return;
    this.#isRaw = false;
    const stored = parseStored(this.#line!, this.kind);
    const object = this.kind.custom?.fromStore(stored) ?? stored;
    if (object === stored) {
      this.#shared = new WeakRef(this.#freeze(stored));
      return;
    }
    this.#rawBytes = this.#line!.length - 1;
    this.#isStale = true;
    this.#value = deepFreeze(numbered(object, this.number));
    this.#line = undefined;
  }

  /** How much memory the text takes: of what has not been normalized, or was changed by it, as stored. */
  get heldBytes(): number {
    if (this.#isRaw) return this.#line!.length - 1;
    return this.#rawBytes === 0 ? this.jsonBytes : this.#rawBytes;
  }

  get json(): Buffer {
    const line = this.line;
    return line.subarray(0, line.length - 1);
  }

  /** How long `json` is. */
  get jsonBytes(): number {
    return this.#droppedBytes > 0 ? this.#droppedBytes : this.line.length - 1;
  }

  /** Whether `line` is in memory: otherwise it is made again each time. */
  get hasText(): boolean {
    return this.#droppedBytes === 0;
  }

  /** The text with a line end behind it, as it is sent alone. */
  get line(): Buffer {
    if (this.#isRaw) this.normalize();
    if (this.#line !== undefined) return this.#line;
    this.#write();
    const line = this.#line!;
    if (this.#droppedBytes > 0) this.#line = undefined;
    return line;
  }

  /** Where, in `json`, the part begins that stands in a list after its opening brace. */
  get itemStart(): number {
    if (this.#isRaw) this.normalize();
    if (this.#line === undefined && this.#droppedBytes === 0) this.#write();
    return this.#itemStart;
  }

  get value(): KubeObject {
    if (this.#isRaw) this.normalize();
    if (this.#value !== undefined) return this.#value;
    if (this.#written !== undefined) {
      this.#value = this.#freeze(numbered(this.#written, this.number));
      this.#written = undefined;
      return this.#value;
    }
    const shared = this.#shared?.deref();
    if (shared !== undefined) return shared;
    const value = this.#freeze(parseStored(this.#line!, this.kind));
    this.#shared = new WeakRef(value);
    return value;
  }

  /** Drops the strong reference to the value; it is parsed again on demand. */
  letGo(): void {
    this.#written = undefined;
    if (this.#value === undefined || this.#line === undefined) return;
    this.#shared = new WeakRef(this.#value);
    this.#value = undefined;
  }

  /**
   * Drops the text if the value is in use elsewhere and the same text can be made of it; false if not. What
   * was just written keeps it.
   */
  dropText(): boolean {
    if (this.#droppedBytes > 0) return true;
    if (this.#isRaw) return false;
    const line = this.#line;
    const value = this.#value ?? this.#shared?.deref();
    if (line === undefined || value === undefined || this.kind.holdsFreeJson) return false;
    this.#value = value;
    this.#write();
    const isSame = line.equals(this.#line!);
    this.#line = isSame ? undefined : line;
    this.#droppedBytes = isSame ? line.length - 1 : 0;
    if (!isSame) this.letGo();
    return isSame;
  }

  /** The same object in another served version of its kind. */
  as(kind: Kind): Revision {
    if (kind.apiVersion === this.kind.apiVersion) return this;
    const known = this.#viewAs(kind);
    if (known !== undefined) return known;
    if (kind.storedAs === undefined) return this;
    if (kind.storedAs.remote !== undefined) {
      throw new Error(`${this.key} has not been converted to ${kind.apiVersion} yet`);
    }
    return this.addView(kind, kind.storedAs.fromStored(this.value) as KubeObject);
  }

  /** Whether `as` has nothing left to convert. */
  isKnownAs(kind: Kind): boolean {
    return kind.apiVersion === this.kind.apiVersion || this.#viewAs(kind) !== undefined;
  }

  /** Keeps the object in another served version, as something outside of the process converted it. */
  addView(kind: Kind, object: KubeObject): Revision {
    const view = Revision.fromValue(kind, this.key, this.number, object, this.isStale);
    this.#views ??= new Map();
    this.#views.set(kind.apiVersion, view);
    return view;
  }

  /** A view of an earlier definition of the kind is none. */
  #viewAs(kind: Kind): Revision | undefined {
    const known = this.#views?.get(kind.apiVersion);
    return known?.kind === kind ? known : undefined;
  }

  /** The same object as of another revision: what a watcher gets when it is deleted. */
  renumbered(number: number): Revision {
    this.normalize();
    const revision = new Revision(this.kind, this.key, number, false, this.#parts);
    if (this.#line === undefined || this.#versionStart === 0) {
      revision.#value = deepFreeze(numbered(this.value, number));
      return revision;
    }
    const { json } = this;
    const end = this.#versionStart;
    revision.#join(json, end, String(number), end + String(this.number).length);
    revision.#itemStart = this.#itemStart;
    revision.#versionStart = this.#versionStart;
    return revision;
  }

  /** Whether this is the text of the same object, written without a resourceVersion. */
  holds(stored: Uint8Array): boolean {
    const line = this.line;
    const other = asBuffer(stored);
    const start = this.#versionStart - VERSION.length;
    const end = this.#versionStart + String(this.number).length + 1;
    return (
      this.#versionStart > 0 &&
      other.length === line.length - 1 - (end - start) &&
      line.compare(other, 0, start, 0, start) === 0 &&
      line.compare(other, start, other.length, end, line.length - 1) === 0
    );
  }

  #freeze(value: KubeObject): KubeObject {
    const isLarge = (this.#line?.length ?? 0) > SHARED_BYTES_MAX;
    // Numbers of free JSON may be bigints, which have no JSON text.
    if (isLarge || this.kind.holdsFreeJson) return deepFreeze(value);
    return this.#parts?.freeze(value) ?? deepFreeze(value);
  }

  #write(): void {
    if (this.#inject(writeObject(this.#value!))) return;
    // No uid: an object that is shown but was never stored.
    const json = writeObject(this.#value!);
    this.#itemStart = json.indexOf(META);
    this.#join(json, json.length, "", json.length);
  }

  /** Puts the resourceVersion in; false if the text has not the form that we write. */
  #inject(stored: Buffer): boolean {
    const at = metaStart(stored);
    const uid = at < 0 ? -1 : find(stored, UID, at);
    const start = uid < 0 ? 0 : plainEnd(stored, uid + UID.length) + 1;
    if (start === 0) return false;
    const there = standsAt(stored, start, VERSION);
    const end = there ? stored.indexOf(QUOTE, start + VERSION.length) + 1 : start;
    const version = this.number === 0 ? "" : `${VERSION}${this.number}"`;
    this.#join(stored, start, version, end);
    this.#itemStart = at;
    this.#versionStart = this.number === 0 ? 0 : start + VERSION.length;
    return true;
  }

  /** The text up to `end`, `middle`, and the text from `start` on. */
  #join(text: Buffer, end: number, middle: string, start: number): void {
    // Its own memory, not a slice of the shared pool, which would live as long as its oldest slice.
    const length = end + middle.length + text.length - start;
    const line = Buffer.allocUnsafeSlow(length + 1);
    text.copy(line, 0, 0, end);
    for (let index = 0; index < middle.length; index++) {
      line[end + index] = middle.charCodeAt(index);
    }
    text.copy(line, end + middle.length, start);
    line[length] = LINE_END;
    this.#line = line;
  }
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
function numbered(object: KubeObject, number: number): KubeObject {
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

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
