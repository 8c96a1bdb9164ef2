/**
 * Which value of a label each node has, in one array: a decision looks at hundreds of nodes, and to
 * read the label of each from its object takes several times as long.
 */
import type { NodeInfo } from "./node-info.ts";

/** The value of a node without the label. */
export const NO_VALUE = -1;

export interface LabelValues {
  readonly values: readonly string[];
  /** The index in `values` by the place of the node, or NO_VALUE. */
  readonly byPlace: Int32Array;
  /** How many values there are; that nodes are without one counts as a value. */
  readonly count: number;
}

export function labelValuesOf(label: string, nodes: readonly NodeInfo[]): LabelValues {
  const indexes = new Map<string, number>();
  const byPlace = new Int32Array(nodes.length);
  let someHaveNone = 0;
  for (let place = 0; place < nodes.length; place++) {
    const value = nodes[place]!.labels[label];
    if (value === undefined) {
      byPlace[place] = NO_VALUE;
      someHaveNone = 1;
      continue;
    }
    const index = indexes.get(value) ?? indexes.size;
    indexes.set(value, index);
    byPlace[place] = index;
  }
  const values = [...indexes.keys()];
  return { values, byPlace, count: values.length + someHaveNone };
}
