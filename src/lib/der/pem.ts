/** Reads PEM: blocks of base64 between BEGIN and END lines; what is no block is passed over. */
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
