/** The checksums that upstream writes into its checkpoints: FNV-1a of 32 bits. */

/** Of a string beside it. */
export function dataChecksum(data: string): number {
  return dumpChecksum(`(string)${data}`);
}

/** `dump`: the object as upstream's hash function prints it. */
export function dumpChecksum(dump: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(dump)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
