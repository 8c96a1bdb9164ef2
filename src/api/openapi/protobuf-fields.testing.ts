/** Looks into protobuf messages by their numbers, for tests. */

/** Field number and wire type with the bytes or number behind it, one level deep. */
export function fieldsOf(bytes: Uint8Array): [number, number | Uint8Array][] {
  const fields: [number, number | Uint8Array][] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const wire = tag % 8;
    if (wire === 0) fields.push([tag >> 3, varint()]);
    else {
      const length = wire === 1 ? 8 : varint();
      fields.push([tag >> 3, bytes.subarray(at, at + length)]);
      at += length;
    }
  }
  return fields;
}

/** What is first at each of the numbers, one inside the other. */
export function follow(bytes: Uint8Array, ...path: number[]): Uint8Array {
  let here = bytes;
  for (const number of path) here = fieldsOf(here).find(([n]) => n === number)?.[1] as Uint8Array;
  return here;
}

export const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
