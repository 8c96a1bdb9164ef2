/**
 * SPDY/3.1's header blocks: names and values, compressed over the whole life of a connection with a
 * dictionary that the protocol fixes.
 *
 * What is sent is stored inside the compressed format, not made smaller: a few headers per stream are
 * not worth a compressor's memory, and so writing needs no waiting.
 */
import { createInflate, type Inflate } from "node:zlib";

export type SpdyHeaders = Readonly<Record<string, string>>;

const COUNT_MAX = 1000;
const LENGTH_MAX = 1024 * 1024;
const STORED_MAX = 0xffff;

export class HeaderWriter {
  #begun = false;

  encode(headers: SpdyHeaders): Buffer {
    const plain = plainBlock(headers);
    const parts: Buffer[] = [];
    if (!this.#begun) {
      this.#begun = true;
      parts.push(STREAM_HEAD);
    }
    for (let at = 0; at < plain.length; at += STORED_MAX) {
      parts.push(...storedBlock(plain.subarray(at, at + STORED_MAX)));
    }
    // An empty block is how a compressor says that all so far can be had.
    parts.push(...storedBlock(Buffer.alloc(0)));
    return Buffer.concat(parts);
  }
}

/** Blocks must be read in the order in which they came. */
export class HeaderReader {
  readonly #inflate: Inflate = createInflate({ dictionary: DICTIONARY });
  #chunks: Buffer[] = [];
  #length = 0;
  #failure: Error | undefined;

  constructor() {
    this.#inflate.on("data", (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#length += chunk.length;
      if (this.#length > LENGTH_MAX) this.#inflate.destroy(new Error("SPDY headers are too long"));
    });
    this.#inflate.on("error", (error) => {
      this.#failure ??= error;
    });
  }

  async decode(block: Buffer): Promise<SpdyHeaders> {
    this.#chunks = [];
    this.#length = 0;
    await new Promise<void>((resolve, reject) => {
      this.#inflate.write(block, (error) => (error ? reject(error) : resolve()));
    });
    if (this.#failure !== undefined) throw this.#failure;
    return readBlock(Buffer.concat(this.#chunks));
  }

  close(): void {
    this.#inflate.destroy();
  }
}

/** Not the last one: there never is. */
function storedBlock(bytes: Buffer): Buffer[] {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(~bytes.length & 0xffff, 3);
  return [head, bytes];
}

function plainBlock(headers: SpdyHeaders): Buffer {
  const entries = Object.entries(headers);
  const count = Buffer.alloc(4);
  count.writeUInt32BE(entries.length);
  return Buffer.concat([
    count,
    ...entries.flatMap(([name, value]) => [sized(name.toLowerCase()), sized(value)]),
  ]);
}

function sized(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function readBlock(plain: Buffer): SpdyHeaders {
  let at = 0;
  const number = (): number => {
    if (at + 4 > plain.length) throw new Error("SPDY headers end too early");
    const value = plain.readUInt32BE(at);
    at += 4;
    return value;
  };
  const text = (): string => {
    const length = number();
    if (at + length > plain.length) throw new Error("SPDY headers end too early");
    at += length;
    return plain.toString("utf8", at - length, at);
  };
  const count = number();
  if (count > COUNT_MAX) throw new Error("too many SPDY headers");
  const headers: Record<string, string> = {};
  for (let index = 0; index < count; index++) {
    const name = text().toLowerCase();
    headers[name] = text();
  }
  return headers;
}

const WORDS =
  "options head post put delete trace accept accept-charset accept-encoding accept-language " +
  "accept-ranges age allow authorization cache-control connection content-base content-encoding " +
  "content-language content-length content-location content-md5 content-range content-type date " +
  "etag expect expires from host if-match if-modified-since if-none-match if-range " +
  "if-unmodified-since last-modified location max-forwards pragma proxy-authenticate " +
  "proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade " +
  "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url " +
  "public set-cookie keep-alive origin";
const REST =
  "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505" +
  "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request" +
  "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented" +
  "503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 " +
  "Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif," +
  "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=" +
  "gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

/** As the protocol writes it down: every word with its length, then a text. */
const DICTIONARY: Buffer = Buffer.concat([
  ...WORDS.split(" ").map((word) => sized(word.replace("_", " "))),
  Buffer.from(REST),
]);

/** The head of a zlib stream that needs the dictionary, which it names by its checksum. */
const STREAM_HEAD: Buffer = streamHead();

function streamHead(): Buffer {
  const head = Buffer.alloc(6);
  head[0] = 0x78;
  head[1] = 0x20; // a dictionary is needed
  head[1] += 31 - (head.readUInt16BE(0) % 31);
  head.writeUInt32BE(adler32(DICTIONARY), 2);
  return head;
}

function adler32(bytes: Buffer): number {
  let [low, high] = [1, 0];
  for (const byte of bytes) {
    low = (low + byte) % 65_521;
    high = (high + low) % 65_521;
  }
  return ((high << 16) + low) >>> 0;
}
