/**
 * Each simulated node has a loopback address of its own (127.1.0.1 and up): one server that listens
 * on all of them finds the node by the local address of a connection.
 */
const BASE = 127 * 2 ** 24 + 2 ** 16 + 1;

export function nodeAddress(index: number): string {
  const address = BASE + index;
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
}

/** Undefined unless it is an address that `nodeAddress` gives. */
export function nodeIndex(address: string): number | undefined {
  const parts = address.replace(/^::ffff:/, "").split(".");
  if (parts.length !== 4 || parts[0] !== "127") return undefined;
  const index = parts.reduce((sum, part) => sum * 256 + Number(part), 0) - BASE;
  return index >= 0 ? index : undefined;
}
