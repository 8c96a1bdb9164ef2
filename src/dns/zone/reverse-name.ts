/** Names below in-addr.arpa and ip6.arpa. */
const IPV4_SUFFIX = ".in-addr.arpa";
const IPV6_SUFFIX = ".ip6.arpa";

export function isReverseName(name: string): boolean {
  return name.endsWith(IPV4_SUFFIX) || name.endsWith(IPV6_SUFFIX);
}

/** The bytes of the address, or undefined unless the name is that of a whole address. */
export function addressOfReverseName(name: string): readonly number[] | undefined {
  if (name.endsWith(IPV4_SUFFIX)) {
    const labels = name.slice(0, -IPV4_SUFFIX.length).split(".");
    const isAddress =
      labels.length === 4 && labels.every((l) => /^(0|[1-9]\d{0,2})$/.test(l) && Number(l) < 256);
    return isAddress ? labels.reverse().map(Number) : undefined;
  }
  const nibbles = name.slice(0, -IPV6_SUFFIX.length).split(".");
  if (nibbles.length !== 32 || !nibbles.every((n) => /^[0-9a-f]$/.test(n))) return undefined;
  const hex = nibbles.reverse().join("");
  return Array.from({ length: 16 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));
}
