/** Bytes as JSON carries them. Reading forgives line breaks and stray bits, as Go does. */
export type DecodedBytes =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly error: string };

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PAD = 0x3d;
const LINE_BREAKS = /[\r\n]/g;

/** Arguments of one call of fromCharCode; more would overflow the stack. */
const CHUNK = 8192;

export function bytesToBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(binary);
}

export function bytesFromBase64(text: string): DecodedBytes {
  const corruptAt = findCorruption(new TextEncoder().encode(text));
  if (corruptAt !== undefined) {
    return { ok: false, error: `illegal base64 data at input byte ${corruptAt}` };
  }
  return { ok: true, bytes: bytesOf(text.replace(LINE_BREAKS, "")) };
}

/** Bytes of a text that is known to be base64. */
export function bytesOf(base64: string): Uint8Array {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** The offset that Go's decoder names for a text that is no base64. */
function findCorruption(text: Uint8Array): number | undefined {
  for (let at = 0; ; ) {
    for (let place = 0; place < 4; place++) {
      at = skipLineBreaks(text, at);
      if (at === text.length) return place === 0 ? undefined : at - place;
      const byte = text[at]!;
      at++;
      if (byte === PAD) return findPaddingFault(text, at, place);
      if (!ALPHABET.includes(String.fromCharCode(byte))) return at - 1;
    }
  }
}

/** `at` is behind the first padding character, which stood in the given place of its group. */
function findPaddingFault(text: Uint8Array, at: number, place: number): number | undefined {
  if (place < 2) return at - 1;
  if (place === 2) {
    at = skipLineBreaks(text, at);
    if (at === text.length) return at;
    if (text[at] !== PAD) return at - 1;
    at++;
  }
  at = skipLineBreaks(text, at);
  return at < text.length ? at : undefined;
}

function skipLineBreaks(text: Uint8Array, at: number): number {
  while (text[at] === 0x0a || text[at] === 0x0d) at++;
  return at;
}
