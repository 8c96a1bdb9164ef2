/** What a scheduler did with one pod, and in what two schedulers differ. */
export interface Outcome {
  /** The node that it chose. */
  readonly node?: string;
  /** The text of its refusal. */
  readonly message?: string;
  /** Weighted scores by plugin of the nodes on which the pod fits; none are given for a single one. */
  readonly scores: ReadonlyMap<string, Scores>;
  /** Priorities of the pods that it removes, in ascending order. */
  readonly victims: readonly number[];
}

export interface Scores {
  readonly total: number;
  readonly byPlugin: ReadonlyMap<string, number>;
}

export interface Agreement {
  readonly feasibility: boolean;
  /** The nodes that fit, their scores, and so the set of best nodes. */
  readonly nodes: boolean;
  readonly message: boolean;
  readonly victims: boolean;
  /** In words; empty if they agree. */
  readonly differences: readonly string[];
}

export function compareOutcomes(upstream: Outcome, ours: Outcome): Agreement {
  const differences: string[] = [];
  const differ = (what: string, theirs: unknown, own: unknown): boolean => {
    // Each has claims of its own, which differ in the name.
    const a = JSON.stringify(theirs)?.replaceAll("-upstream", "-x");
    const b = JSON.stringify(own)?.replaceAll("-ours", "-x");
    if (a !== b) differences.push(`${what}: kube-scheduler ${a}, ours ${b}`);
    return a === b;
  };
  const isFit = ({ node }: Outcome): boolean => node !== undefined;
  const feasibility = differ("the pod fits", isFit(upstream), isFit(ours));
  const message = differ("message", upstream.message, ours.message);
  const victims = differ("priorities of victims", upstream.victims, ours.victims);
  let nodes = differ("feasible nodes", feasible(upstream), feasible(ours));
  for (const [name, { total, byPlugin }] of nodes ? upstream.scores : []) {
    const own = ours.scores.get(name)!;
    if (differ(`score of ${name}`, total, own.total)) continue;
    nodes = false;
    for (const plugin of new Set([...byPlugin.keys(), ...own.byPlugin.keys()])) {
      differ(`${plugin} of ${name}`, byPlugin.get(plugin) ?? 0, own.byPlugin.get(plugin) ?? 0);
    }
  }
  for (const outcome of [upstream, ours]) {
    const best = Math.max(...[...outcome.scores.values()].map(({ total }) => total));
    const chosen = outcome.scores.get(outcome.node ?? "")?.total;
    if (chosen === undefined || chosen === best) continue;
    nodes = false;
    differences.push(`${outcome.node} was chosen with ${chosen}, the best score is ${best}`);
  }
  return { feasibility, nodes, message, victims, differences };
}

function feasible({ node, scores }: Outcome): readonly string[] {
  if (scores.size > 0) return [...scores.keys()].sort();
  return node === undefined ? [] : [node];
}
