/** Reads a number of simulated nodes from a flag. */
import { integer } from "../flags/flag-values.ts";
import { badValue } from "../flags/parse-flags.ts";

/** Each has a /24 of addresses for its pods. */
const NODES_MAX = 16_000;

export function nodeCount(text: string): number {
  const count = integer(text);
  if (count >= 0 && count <= NODES_MAX) return count;
  throw badValue(`must be from 0 to ${NODES_MAX}`);
}
