/**
 * One object at one revision: JSON bytes with its resourceVersion inside, made once, and the parsed,
 * deeply frozen value, made when it is first asked for. GET, LIST and every watcher send the same
 * bytes; callers in the same process share the same value.
 *
 * The text always begins with kind, apiVersion and metadata, in that order, and metadata begins with
 * the resourceVersion. So an item of a list (which has no kind and apiVersion of its own) is the
 * tail of the text, and another resourceVersion is put in without parsing.
 */
import type { Kind, KubeObject } from "#api/kind.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { parseStored, writeObject } from "./object-text.ts";

const META = Buffer.from('"metadata":{');
const HEAD = /^\{"kind":"[^"\\]*","apiVersion":"[^"\\]*",$/;
const RV = '"resourceVersion":"';
const QUOTE = 0x22;
const CLOSE_BRACE = 0x7d;
const LINE_END = 0x0a;

export class Revision {
  /** The version that the text is written in. */
  readonly kind: Kind;
  readonly key: string;
  readonly number: number;
  #json: Buffer | undefined;
  #itemStart = 0;
  #value: KubeObject | undefined;
  #views: Map<Kind, Revision> | undefined;

  private constructor(kind: Kind, key: string, number: number) {
    this.kind = kind;
    this.key = key;
    this.number = number;
  }

  /**
   */
  static fromJson(kind: Kind, key: string, number: number, stored: Uint8Array): Revision {
    const revision = new Revision(kind, key, number);
    if (!revision.#inject(asBuffer(stored))) {
      return Revision.fromValue(kind, key, number, parseStored(stored));
    }
    return revision;
  }

  /**
   * From a value; its resourceVersion is replaced (0: it has none, a dry run). The value is frozen
   * from now on.
   */
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
    revision.#inject(asBuffer(stored));
    return revision;
  }

  get json(): Buffer {
    if (this.#json === undefined) this.#inject(writeObject(this.#value!));
    return this.#json!;
  }

  /** The text with a line end behind it, as it is sent alone. */
  get line(): Buffer {
    const { buffer, byteOffset, length } = this.json;
    return Buffer.from(buffer, byteOffset, length + 1);
  }

  /** Where, in `json`, the part begins that stands in a list after its opening brace. */
  get itemStart(): number {
    if (this.#json === undefined) this.#inject(writeObject(this.#value!));
    return this.#itemStart;
  }

  get value(): KubeObject {
    this.#value ??= deepFreeze(parseStored(this.#json!));
    return this.#value;
  }

  /** Whether the value is there already: asking for it costs nothing. */
  get parsed(): boolean {
    return this.#value !== undefined;
  }

  /** The same object in another served version of its kind. */
  as(kind: Kind): Revision {
    if (kind === this.kind || kind.apiVersion === this.kind.apiVersion) return this;
    const known = this.#views?.get(kind);
    if (known !== undefined) return known;
    const view = Revision.fromValue(
      kind,
      this.key,
      this.number,
      kind.storedAs === undefined
        ? this.value
        : (kind.storedAs.fromStored(this.value) as KubeObject),
    );
    this.#views ??= new Map();
    this.#views.set(kind, view);
    return view;
  }

  /** The same object as of another revision: what a watcher gets when it is deleted. */
  renumbered(number: number): Revision {
    const revision = new Revision(this.kind, this.key, number);
    if (this.#json !== undefined) {
      const start = this.#itemStart + META.length + RV.length;
      const end = this.#json.indexOf(QUOTE, start);
      revision.#join(this.#json.subarray(0, start), String(number), this.#json.subarray(end));
      revision.#itemStart = this.#itemStart;
    } else {
      revision.#value = deepFreeze(numbered(this.#value!, number));
    }
    return revision;
  }

  /** Whether this is the text of the same object, written without a resourceVersion. */
  holds(stored: Uint8Array): boolean {
    const json = this.json;
    const start = this.#itemStart + META.length;
    const tail = json.indexOf(QUOTE, start + RV.length) + 2; // the quote and the comma
    const other = asBuffer(stored);
    return (
      other.length === json.length - (tail - start) &&
      json.compare(other, 0, start, 0, start) === 0 &&
      json.compare(other, start, other.length, tail) === 0
    );
  }

  #inject(stored: Buffer): boolean {
    const at = stored.indexOf(META);
    if (at < 0 || !HEAD.test(stored.toString("latin1", 0, at))) return false;
    const start = at + META.length;
    const old = stored.toString("latin1", start, start + RV.length) === RV;
    const tail = old ? stored.indexOf(QUOTE, start + RV.length) + 1 : start;
    const comma = old || stored[tail] === CLOSE_BRACE ? "" : ",";
    const version = this.number === 0 ? "" : `${RV}${this.number}"${comma}`;
    this.#join(stored.subarray(0, start), version, stored.subarray(tail));
    this.#itemStart = at;
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

function numbered(object: KubeObject, number: number): KubeObject {
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _, ...meta } = metadata;
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(apiVersion === undefined ? {} : { apiVersion }),
    metadata: number === 0 ? meta : { resourceVersion: String(number), ...meta },
    ...rest,
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
