/**
 * Nodes of a struct's fields, in order whatever order the fields come in. Objects of a type have the
 * same few fields again and again, so a node that names them is made once and then shared, or copied
 * if there is something below a field.
 */
import type { Field, Schema, StructSchema } from "#api/schema/schema.ts";
import { type FieldSet, LEAF, ordered } from "./field-set.ts";

export interface RankedField {
  readonly name: string;
  readonly element: string;
  readonly schema: Schema;
  /** Owned as one value, whatever it is. */
  readonly isLeaf: boolean;
  /** Stands for the field in sums; 0 if the struct has too many fields for that. */
  readonly bit: number;
}

export interface RankedFields {
  readonly byName: ReadonlyMap<string, RankedField>;
  /** Whether fields have bits. */
  readonly isNarrow: boolean;
  /** By the bits of the fields that the node names. */
  readonly plainNodes: Map<number, PlainNode>;
}

/** A node with nothing below its fields: one to share, and one to copy, which is quicker if open. */
interface PlainNode {
  readonly frozen: FieldSet;
  readonly open: FieldSet;
}

/** The struct is a member itself. */
export const MEMBER_BIT = 1;
const FIELDS_MAX = 52;
const PLAIN_NODES_MAX = 64;

export function rankFields(
  { fields }: StructSchema,
  isLeaf: (schema: Schema) => boolean,
): RankedFields {
  const isNarrow = fields.length <= FIELDS_MAX;
  const sorted = fields.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const ranked = ({ name, schema }: Field, rank: number): RankedField => {
    const bit = isNarrow ? 2 ** (rank + 1) : 0;
    return { name, element: `f:${name}`, schema, isLeaf: isLeaf(schema), bit };
  };
  const byName = new Map(sorted.map((field, rank) => [field.name, ranked(field, rank)]));
  return { byName, isNarrow, plainNodes: new Map() };
}

export function plainNode({ byName, plainNodes }: RankedFields, bits: number): PlainNode {
  let plain = plainNodes.get(bits);
  if (plain === undefined) {
    const open: Record<string, FieldSet> = bits % 2 === MEMBER_BIT ? { ".": LEAF } : {};
    for (const { element, bit } of byName.values()) {
      if (Math.floor(bits / bit) % 2 === 1) open[element] = LEAF;
    }
    plain = { frozen: Object.freeze({ ...open }), open };
    if (plainNodes.size >= PLAIN_NODES_MAX) plainNodes.clear();
    plainNodes.set(bits, plain);
  }
  return plain;
}

/** Puts the node of a struct, or of anything else, together step by step. */
export class NodeBuilder {
  readonly #ranked: RankedFields | undefined;
  #bits = 0;
  /** What has something below it: elements and, beside them, their nodes. */
  #elements: string[] | undefined;
  #nodes: FieldSet[] | undefined;
  /** What has no rank. */
  #others: Record<string, FieldSet> | undefined;

  constructor(ranked: RankedFields | undefined) {
    this.#ranked = ranked;
  }

  /** `bit` is that of the field, 0 for any other element. No element may be added twice. */
  add(element: string, bit: number, node: FieldSet): void {
    if (bit === 0) {
      this.#others ??= {};
      this.#others[element] = node;
      return;
    }
    this.#bits += bit;
    if (node === LEAF) return;
    this.#elements ??= [];
    this.#nodes ??= [];
    this.#elements.push(element);
    this.#nodes.push(node);
  }

  finish(): FieldSet | undefined {
    if (this.#bits === 0) return this.#others && ordered(this.#others);
    const plain = plainNode(this.#ranked!, this.#bits);
    const elements = this.#elements;
    const others = this.#others;
    if (elements === undefined && others === undefined) return plain.frozen;
    const node: Record<string, FieldSet> = { ...plain.open };
    for (let i = 0; i < (elements?.length ?? 0); i++) node[elements![i]!] = this.#nodes![i]!;
    return others === undefined ? node : ordered(Object.assign(node, others));
  }
}
