/** PEM: blocks of base64 between BEGIN and END lines; text that is no block is ignored. */
export interface PemBlock {
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

export function parsePem(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  let at = 0;
  for (;;) {
    BEGIN.lastIndex = at;
    const begin = BEGIN.exec(text);
    if (begin === null) return blocks;
    const type = begin[1]!;
    const bodyStart = BEGIN.lastIndex;
    const endLine = `-----END ${type}-----`;
    const end = text.startsWith(endLine, bodyStart)
      ? bodyStart
      : text.indexOf(`\n${endLine}`, bodyStart - 1) + 1;
    const block = end === 0 ? undefined : readBody(type, text.slice(bodyStart, end));
    if (block === undefined) {
      at = bodyStart;
      continue;
    }
    blocks.push(block);
    at = end + endLine.length;
  }
}

/** The bytes of the first block. */
export function fromPem(text: string): Buffer {
  const [block] = parsePem(text);
  if (block === undefined) throw new Error("no PEM block");
  return Buffer.from(block.bytes);
}

export function toPem(type: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${type}-----\n${lines.join("\n")}\n-----END ${type}-----\n`;
}

/** Each certificate of a bundle as a text of its own. */
export function certificatesIn(bundle: string): string[] {
  return bundle.match(CERTIFICATE) ?? [];
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export function bytesOfBase64(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

const BEGIN = /(?<=^|\n)-----BEGIN ([^\n]*?)-----[ \t\r]*\n/g;

function readBody(type: string, body: string): PemBlock | undefined {
  const lines = body.split("\n");
  const headers: Record<string, string> = {};
  let first = 0;
  for (; first < lines.length; first++) {
    const colon = lines[first]!.indexOf(":");
    if (colon < 0) break;
    headers[lines[first]!.slice(0, colon).trim()] = lines[first]!.slice(colon + 1).trim();
  }
  const base64 = lines.slice(first).join("").replace(/[\s]+/g, "");
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return undefined;
  return { type, headers, bytes: bytesOfBase64(base64) };
}
