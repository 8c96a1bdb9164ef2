/**
 * One object at one revision: JSON bytes with its resourceVersion inside, made once, and the parsed,
 * deeply frozen value, made when it is first asked for. GET, LIST and every watcher send the same
 * bytes; callers in the same process share the same value. That of an object that was just written is
 * there already, but it is larger than the bytes, and many are never looked at: it stays only as long
 * as someone uses it, and whoever comes later has it parsed again.
 *
 * The text always begins with kind, apiVersion and metadata, in that order, and the resourceVersion
 * follows the uid. So an item of a list (which has no kind and apiVersion of its own) is the tail of
 * the text, and another resourceVersion is put in without parsing.
 */
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import type { Kind, KubeObject } from "#api/kind.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { parseStored, writeObject } from "./object-text.ts";

const META = Buffer.from('"metadata":{');
const HEAD = /^\{"kind":"[^"\\]*","apiVersion":"[^"\\]*",$/;
/** Quotes inside values are escaped, so this cannot stand in a name before it. */
const UID = Buffer.from('"uid":"');
const VERSION = ',"resourceVersion":"';
const QUOTE = 0x22;
const LINE_END = 0x0a;

export class Revision {
  /** The version that the text is written in. */
  readonly kind: Kind;
  readonly key: string;
  /** 0: the outcome of a dry run, which has no resourceVersion. */
  readonly number: number;
  #json: Buffer | undefined;
  #itemStart = 0;
  /** Where the digits of the resourceVersion begin. */
  #versionStart = 0;
  #value: KubeObject | undefined;
  /** As it was written, if someone still has it. */
  #written: WeakRef<KubeObject> | undefined;
  #views: Map<Kind, Revision> | undefined;

  private constructor(kind: Kind, key: string, number: number) {
    this.kind = kind;
    this.key = key;
    this.number = number;
  }

  /** From stored JSON, which has no resourceVersion. */
  static fromJson(kind: Kind, key: string, number: number, stored: Uint8Array): Revision {
    const revision = new Revision(kind, key, number);
    if (!revision.#inject(asBuffer(stored))) {
      return Revision.fromValue(kind, key, number, parseStored(stored));
    }
    return revision;
  }

  /** From a value; its resourceVersion is replaced. The value is frozen from now on. */
  static fromValue(kind: Kind, key: string, number: number, object: KubeObject): Revision {
    const revision = new Revision(kind, key, number);
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
  ): Revision {
    const revision = Revision.fromValue(kind, key, number, object);
    if (!revision.#inject(asBuffer(stored))) return revision;
    revision.#written = new WeakRef(revision.#value!);
    revision.#value = undefined;
    return revision;
  }

  get json(): Buffer {
    if (this.#json === undefined) this.#write();
    return this.#json!;
  }

  /** The text with a line end behind it, as it is sent alone. */
  get line(): Buffer {
    const { buffer, byteOffset, length } = this.json;
    return Buffer.from(buffer, byteOffset, length + 1);
  }

  /** Where, in `json`, the part begins that stands in a list after its opening brace. */
  get itemStart(): number {
    if (this.#json === undefined) this.#write();
    return this.#itemStart;
  }

  get value(): KubeObject {
    if (this.#value !== undefined) return this.#value;
    const written = this.#written?.deref();
    if (written !== undefined) return written;
    this.#value = deepFreeze(parseStored(this.#json!));
    this.#written = undefined;
    return this.#value;
  }

  /** The same object in another served version of its kind. */
  as(kind: Kind): Revision {
    if (kind.apiVersion === this.kind.apiVersion || kind.storedAs === undefined) return this;
    const known = this.#views?.get(kind);
    if (known !== undefined) return known;
    const object = kind.storedAs.fromStored(this.value) as KubeObject;
    const view = Revision.fromValue(kind, this.key, this.number, object);
    this.#views ??= new Map();
    this.#views.set(kind, view);
    return view;
  }

  /** The same object as of another revision: what a watcher gets when it is deleted. */
  renumbered(number: number): Revision {
    const revision = new Revision(this.kind, this.key, number);
    if (this.#json === undefined || this.#versionStart === 0) {
      revision.#value = deepFreeze(numbered(this.value, number));
      return revision;
    }
    const head = this.#json.subarray(0, this.#versionStart);
    const tail = this.#json.subarray(this.#versionStart + String(this.number).length);
    revision.#join(head, String(number), tail);
    revision.#itemStart = this.#itemStart;
    revision.#versionStart = this.#versionStart;
    return revision;
  }

  /** Whether this is the text of the same object, written without a resourceVersion. */
  holds(stored: Uint8Array): boolean {
    const json = this.json;
    const other = asBuffer(stored);
    const start = this.#versionStart - VERSION.length;
    const end = this.#versionStart + String(this.number).length + 1;
    return (
      this.#versionStart > 0 &&
      other.length === json.length - (end - start) &&
      json.compare(other, 0, start, 0, start) === 0 &&
      json.compare(other, start, other.length, end) === 0
    );
  }

  #write(): void {
    if (this.#inject(writeObject(this.#value!))) return;
    // No uid: an object that is shown but was never stored.
    const json = writeObject(this.#value!);
    this.#itemStart = json.indexOf(META);
    this.#join(json, "", json.subarray(json.length));
  }

  /** Puts the resourceVersion in; false if the text has not the form that we write. */
  #inject(stored: Buffer): boolean {
    const at = stored.indexOf(META);
    if (at < 0 || !HEAD.test(stored.toString("latin1", 0, at))) return false;
    const uid = stored.indexOf(UID, at);
    if (uid < 0) return false;
    const start = stored.indexOf(QUOTE, uid + UID.length) + 1;
    const there = stored.toString("latin1", start, start + VERSION.length) === VERSION;
    const end = there ? stored.indexOf(QUOTE, start + VERSION.length) + 1 : start;
    const version = this.number === 0 ? "" : `${VERSION}${this.number}"`;
    this.#join(stored.subarray(0, start), version, stored.subarray(end));
    this.#itemStart = at;
    this.#versionStart = this.number === 0 ? 0 : start + VERSION.length;
    return true;
  }

  #join(head: Buffer, middle: string, tail: Buffer): void {
    // Its own memory, not a slice of the shared pool, which would live as long as its oldest slice.
    const length = head.length + middle.length + tail.length;
    const line = Buffer.allocUnsafeSlow(length + 1);
    head.copy(line);
    line.write(middle, head.length, "latin1");
    tail.copy(line, head.length + middle.length);
    line[length] = LINE_END;
    this.#json = line.subarray(0, length);
  }
}

/** The resourceVersion stands behind the uid, as upstream writes it. */
function numbered(object: KubeObject, number: number): KubeObject {
  const { kind, apiVersion, metadata, ...rest } = object;
  const meta: Record<string, unknown> = {};
  const version = number === 0 ? {} : { resourceVersion: String(number) };
  let done = false;
  for (const [name, value] of Object.entries(metadata)) {
    if (name === "resourceVersion") continue;
    meta[name] = value;
    if (name !== "uid") continue;
    Object.assign(meta, version);
    done = true;
  }
  if (!done) Object.assign(meta, version);
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
