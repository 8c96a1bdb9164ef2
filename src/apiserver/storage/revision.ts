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
import type { Kind, KubeObject } from "#api/kind.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { parseStored, parseStoredText, writeObject } from "./object-text.ts";
import type { SharedParts } from "./shared-parts.ts";
import { META, numbered, type Places, placesIn, VERSION } from "./version-in-text.ts";

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
  /** The text without its resourceVersion, until the whole is read: that of most pods never is. */
  #stored: Buffer | undefined;
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
  /** The text was made from the value, so the same text can be made again. Otherwise the two are compared. */
  #isOfValue = false;
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

  /**
   * From stored JSON, which has no resourceVersion. `isKept`: the bytes may be held as they are, because
   * they are no part of memory that would otherwise be free.
   */
  static fromJson(
    kind: Kind,
    key: string,
    number: number,
    stored: Uint8Array,
    { parts, isKept = false }: { parts?: SharedParts; isKept?: boolean } = {},
  ): Revision {
    const revision = new Revision(kind, key, number, false, parts);
    const text = asBuffer(stored);
    const places = placesIn(text);
    if (places === undefined) {
      return Revision.fromValue(kind, key, number, parseStored(stored, kind));
    }
    if (isKept && places.versionStart === places.versionEnd) revision.#stored = text;
    else revision.#join(text, places.versionStart, revision.#versionText(), places.versionEnd);
    revision.#settle(places);
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
    const text = asBuffer(stored);
    const places = placesIn(text);
    if (places === undefined) return Revision.fromValue(kind, key, number, object);
    revision.#stored = text;
    revision.#settle(places);
    revision.#written = object;
    revision.#isOfValue = true;
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

  /** `json`, or the same without a resourceVersion if `json` has not been asked for: costs nothing. */
  get storedText(): Buffer {
    return this.#stored ?? this.json;
  }

  /** How long `json` is. */
  get jsonBytes(): number {
    if (this.#droppedBytes > 0) return this.#droppedBytes;
    return this.#stored === undefined
      ? this.line.length - 1
      : this.#stored.length + this.#versionText().length;
  }

  /** Whether `line` is in memory: otherwise it is made again each time. */
  get hasText(): boolean {
    return this.#droppedBytes === 0;
  }

  /** The text with a line end behind it, as it is sent alone. */
  get line(): Buffer {
    if (this.#isRaw) this.normalize();
    if (this.#line !== undefined) return this.#line;
    if (this.#stored !== undefined) {
      const at = this.#versionStart - VERSION.length;
      if (this.number === 0) this.#inject(this.#stored);
      else this.#join(this.#stored, at, this.#versionText(), at);
      this.#stored = undefined;
      return this.#line!;
    }
    this.#write();
    const line = this.#line!;
    if (this.#droppedBytes > 0) this.#line = undefined;
    return line;
  }

  /** Where, in `json`, the part begins that stands in a list after its opening brace. */
  get itemStart(): number {
    if (this.#isRaw) this.normalize();
    if (this.#itemStart === 0) void this.line;
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
    const value = this.#freeze(this.#parse());
    this.#shared = new WeakRef(value);
    this.#isOfValue = false; // digits beyond 2^53 may be lost
    return value;
  }

  /** Drops the strong reference to the value; it is parsed again on demand. */
  letGo(): void {
    this.#written = undefined;
    if (this.#value === undefined || !this.#isTextKept) return;
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
    const value = this.#value ?? this.#shared?.deref();
    if (!this.#isTextKept || value === undefined || this.kind.holdsFreeJson) return false;
    this.#value = value;
    if (this.#isOfValue || this.#canBeMade()) {
      this.#droppedBytes = this.jsonBytes;
      this.#line = undefined;
      this.#stored = undefined;
      return true;
    }
    this.letGo();
    return false;
  }

  get #isTextKept(): boolean {
    return this.#line !== undefined || this.#stored !== undefined;
  }

  /** Whether the value gives the same text. */
  #canBeMade(): boolean {
    const { line } = this;
    this.#write();
    const isSame = line.equals(this.#line!);
    this.#line = line;
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
    if (!this.#isTextKept || this.#versionStart === 0) {
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
    const other = asBuffer(stored);
    if (this.#stored !== undefined) return this.#stored.equals(other);
    const line = this.line;
    const start = this.#versionStart - VERSION.length;
    const end = this.#versionStart + String(this.number).length + 1;
    return (
      this.#versionStart > 0 &&
      other.length === line.length - 1 - (end - start) &&
      line.compare(other, 0, start, 0, start) === 0 &&
      line.compare(other, start, other.length, end, line.length - 1) === 0
    );
  }

  /** The text need not be made for it. */
  #parse(): KubeObject {
    const stored = this.#stored;
    if (stored === undefined || this.number === 0) return parseStored(this.line, this.kind);
    const start = this.#versionStart - VERSION.length;
    const text = `${stored.toString("utf8", 0, start)}${this.#versionText()}${stored.toString("utf8", start)}`;
    return parseStoredText(text, this.kind);
  }

  #freeze(value: KubeObject): KubeObject {
    const isLarge = ((this.#line ?? this.#stored)?.length ?? 0) > SHARED_BYTES_MAX;
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
    const places = placesIn(stored);
    if (places === undefined) return false;
    this.#join(stored, places.versionStart, this.#versionText(), places.versionEnd);
    this.#settle(places);
    return true;
  }

  #versionText(): string {
    return this.number === 0 ? "" : `${VERSION}${this.number}"`;
  }

  #settle({ metadata, versionStart }: Places): void {
    this.#itemStart = metadata;
    this.#versionStart = this.number === 0 ? 0 : versionStart + VERSION.length;
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

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
