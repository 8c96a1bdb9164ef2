/** Why no node fits, and the text that users see. */
import type { Rejected } from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";

export interface Diagnosis {
  readonly nodeCount: number;
  /** The verdict of each node that was evaluated and rejected. */
  readonly verdicts: ReadonlyMap<NodeInfo, Rejected>;
  /** The verdict of all other nodes, if any. */
  readonly absent: Rejected | undefined;
  /** Set if the pod was rejected before any node was evaluated. */
  readonly preFilterMessage: string | undefined;
  /** The plugins that rejected the pod on some node. */
  readonly plugins: ReadonlySet<string>;
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable. preemption: …` */
export function fitErrorMessage(diagnosis: Diagnosis, postFilterMessage: string): string {
  const { nodeCount, preFilterMessage } = diagnosis;
  let message = `0/${nodeCount} nodes are available:`;
  if (preFilterMessage !== undefined && preFilterMessage !== "") message += ` ${preFilterMessage}.`;
  else {
    const reasons = reasonTexts(diagnosis);
    if (reasons.length > 0) message += ` ${reasons.join(", ")}.`;
  }
  return postFilterMessage === "" ? message : `${message} ${postFilterMessage}`;
}

/** How many nodes each reason rejected, as `2 Insufficient cpu`, in the order of the texts. */
function reasonTexts({ nodeCount, verdicts, absent }: Diagnosis): string[] {
  const counts = new Map<Rejected, number>();
  for (const verdict of verdicts.values()) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  const others = nodeCount - verdicts.size;
  if (absent !== undefined && others > 0) counts.set(absent, (counts.get(absent) ?? 0) + others);
  const byReason = new Map<string, number>();
  for (const [{ reasons }, count] of counts) {
    for (const reason of reasons) byReason.set(reason, (byReason.get(reason) ?? 0) + count);
  }
  return [...byReason].map(([reason, count]) => `${count} ${reason}`).sort(byteOrder);
}

function byteOrder(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
