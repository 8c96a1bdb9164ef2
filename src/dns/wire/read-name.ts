/** Reads a name that may be compressed. Pointers lead back only and there are few of them. */
const POINTERS_MAX = 16;
const NAME_BYTES_MAX = 255;

/** Lower case, without the dot at the end; undefined if it is malformed or no plain name. */
export function readName(packet: Buffer, start: number): string | undefined {
  const labels: string[] = [];
  let at = start;
  let bytes = 0;
  let pointers = 0;
  for (;;) {
    const length = packet[at];
    if (length === undefined) return undefined;
    if (length === 0) return labels.join(".").toLowerCase();
    if (length >= 0xc0) {
      const next = packet[at + 1];
      pointers += 1;
      if (next === undefined || pointers > POINTERS_MAX) return undefined;
      const to = ((length & 0x3f) << 8) | next;
      if (to >= at) return undefined;
      at = to;
      continue;
    }
    bytes += length + 1;
    if (length > 63 || bytes >= NAME_BYTES_MAX || at + 1 + length > packet.length) return undefined;
    const label = packet.toString("latin1", at + 1, at + 1 + length);
    if (label.includes(".")) return undefined;
    labels.push(label);
    at += 1 + length;
  }
}
