/**
 * An address in network order: 4 bytes or 16. Not read with node's own check, whose expression for
 * IPv6 takes longer to compile than all keys of a cluster take to make.
 */
export function ipBytes(address: string): Buffer {
  const bytes = tryIpBytes(address);
  if (bytes === undefined) throw new Error(`${address} is not an IP address`);
  return bytes;
}

/** Undefined if it is no address. */
export function tryIpBytes(text: string): Buffer | undefined {
  if (!text.includes(":")) return v4Bytes(text);
  const colon = text.lastIndexOf(":");
  const dotted = text.includes(".") ? v4Bytes(text.slice(colon + 1)) : undefined;
  if (text.includes(".") && dotted === undefined) return undefined;
  const plain = dotted === undefined ? text : `${text.slice(0, colon + 1)}${hexGroups(dotted)}`;
  const [head = "", tail, ...more] = plain.split("::");
  const before = groups(head);
  const after = groups(tail ?? "");
  if (before === undefined || after === undefined || more.length > 0) return undefined;
  const zeros = 8 - before.length - after.length;
  if (tail === undefined ? zeros !== 0 : zeros < 1) return undefined;
  const all = [...before, ...Array<number>(zeros).fill(0), ...after];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

function v4Bytes(text: string): Buffer | undefined {
  const parts = text.split(".");
  const good = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part));
  const numbers = parts.map(Number);
  return good && numbers.every((number) => number <= 255) ? Buffer.from(numbers) : undefined;
}

function hexGroups(v4: Buffer): string {
  return `${v4.readUInt16BE(0).toString(16)}:${v4.readUInt16BE(2).toString(16)}`;
}

function groups(text: string): number[] | undefined {
  if (text === "") return [];
  const parts = text.split(":");
  if (!parts.every((part) => /^[0-9a-fA-F]{1,4}$/.test(part))) return undefined;
  return parts.map((part) => Number.parseInt(part, 16));
}
