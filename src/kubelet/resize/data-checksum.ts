/** The checksum that upstream writes beside a string in its checkpoints: FNV-1a of 32 bits. */
export function dataChecksum(data: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(`(string)${data}`))
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
