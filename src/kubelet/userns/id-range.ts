/** The ids of the machine that are shared out to pods with a user namespace of their own. Pure. */

export interface IdRange {
  readonly first: number;
  readonly length: number;
}

/** Ids of a pod, unless `userNamespaces.idsPerPod` says otherwise; always a multiple of it. */
export const IDS_PER_POD = 65_536;

/** All ids but those that the machine itself uses. */
export function defaultRange(idsPerPod: number): IdRange {
  return { first: idsPerPod, length: 2 ** 32 - idsPerPod };
}

/** From the output of `getsubids`: `0: kubelet 65536 2147483648`. Throws in upstream's words. */
export function parseSubIds(output: string): IdRange {
  const lines = output.replace(/^\n+|\n+$/g, "").split("\n");
  const quoted = JSON.stringify(output);
  if (lines.length !== 1) {
    throw new Error(`error parsing line ${quoted}: it must contain only one line`);
  }
  const parts = (lines[0] ?? "").split(/\s+/).filter((part) => part !== "");
  if (parts.length !== 4) throw new Error(`invalid line ${quoted}`);
  const numberOf = (text: string): number => {
    const why = !/^\d+$/.test(text) ? "invalid syntax" : "value out of range";
    if (why === "invalid syntax" || Number(text) >= 2 ** 32) {
      throw new Error(
        `error parsing line ${quoted}: strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`,
      );
    }
    return Number(text);
  };
  return { first: numberOf(parts[2] ?? ""), length: numberOf(parts[3] ?? "") };
}

/** Undefined if every pod of the node can have `idsPerPod` ids of the range. */
export function whyUnusable(
  { first, length }: IdRange,
  idsPerPod: number,
  podsMax: number,
): string | undefined {
  if (idsPerPod % IDS_PER_POD !== 0) {
    return `kubelet user namespace length ${idsPerPod} is not a multiple of ${IDS_PER_POD}`;
  }
  if (first % idsPerPod !== 0) {
    return `kubelet user assigned ID ${first} is not a multiple of ${idsPerPod}`;
  }
  if (first < idsPerPod) {
    return `kubelet user assigned ID ${first} must be greater or equal to ${idsPerPod}`;
  }
  if (length % idsPerPod !== 0) {
    return `kubelet user assigned IDs length ${length} is not a multiple of ${idsPerPod}`;
  }
  if (length / idsPerPod < podsMax) {
    return `kubelet user assigned IDs are not enough to support ${podsMax} pods`;
  }
  return undefined;
}
