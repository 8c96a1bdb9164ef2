/**
 * Nodes of maps whose values are scalars: labels, annotations, data. The same few names come again and
 * again, so the node of a small map is made once and then shared. See also large-nodes.ts.
 */
import type { JsonObject } from "#api/patch/json-value.ts";
import { type FieldSet, LEAF } from "./field-set.ts";

/** Names of a map whose node is kept. */
const NAMES_MAX = 16;
/** Together, so that long names of clients cannot fill the memory. */
const LENGTH_MAX = 256;
const NODES_MAX = 512;

/** All entries of the map. `isMember`: the map is a member itself. */
export function mapNode(map: JsonObject, isMember: boolean): FieldSet {
  const names = namesOf(map);
  if (names.length === 0) return LEAF;
  if (names.length > NAMES_MAX) return nodeOf(names, isMember);
  const text = names.join(" ");
  if (text.length > LENGTH_MAX) return nodeOf(names, isMember);
  const nodes = isMember ? memberNodes : plainNodes;
  const known = nodes.get(text);
  if (known !== undefined && isSame(known.names, names)) return known.node;
  const node = Object.freeze(nodeOf(names, isMember));
  if (nodes.size >= NODES_MAX) nodes.clear();
  nodes.set(text, { names, node });
  return node;
}

/** In order. Most maps are in order already: to sort copies them. */
function namesOf(map: JsonObject): readonly string[] {
  const names: string[] = [];
  let isOrdered = true;
  for (const name in map) {
    if (map[name] === undefined) continue;
    if (names.length > 0 && name < names.at(-1)!) isOrdered = false;
    names.push(name);
  }
  return isOrdered ? names : names.sort();
}

function nodeOf(names: readonly string[], isMember: boolean): FieldSet {
  const node: Record<string, FieldSet> = isMember ? { ".": LEAF } : {};
  for (const name of names) node[`f:${name}`] = LEAF;
  return node;
}

interface KnownNode {
  readonly names: readonly string[];
  readonly node: FieldSet;
}

// Memory of pure results.
const memberNodes = new Map<string, KnownNode>();
const plainNodes = new Map<string, KnownNode>();

/** Names may have spaces in them. */
function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, at) => name === b[at]);
}
