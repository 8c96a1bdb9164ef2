/** Asks extenders which preemptions they agree with; each sees what the one before it left. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { ExtenderConfig } from "#scheduler/config/extender-config.ts";
import type { Candidate } from "#scheduler/preemption/victims.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";

type Send = (config: ExtenderConfig, verb: string, body: unknown) => Promise<unknown>;

interface MetaVictims {
  readonly pods?: readonly { readonly uid: string }[] | null;
  readonly numPDBViolations?: number;
}

interface Answer {
  readonly nodeNameToMetaVictims?: Readonly<Record<string, MetaVictims | null>>;
}

export async function reviewPreemption(
  configs: readonly ExtenderConfig[],
  pod: PodInfo,
  candidates: readonly Candidate[],
  snapshot: Snapshot,
  send: Send,
): Promise<readonly Candidate[]> {
  let left = candidates;
  for (const config of configs) {
    if (config.preemptVerb === "" || left.length === 0) continue;
    try {
      const answer = await send(config, config.preemptVerb, argsOf(config, pod.pod, left));
      left = candidatesOf(config, answer as Answer, snapshot);
    } catch (error) {
      if (!config.ignorable) throw error;
    }
  }
  return left;
}

function argsOf(
  { nodeCacheCapable }: ExtenderConfig,
  pod: Pod,
  candidates: readonly Candidate[],
): unknown {
  const byNode = (podsOf: (victims: Candidate["victims"]) => unknown) =>
    Object.fromEntries(
      candidates.map(({ node, victims, violations }) => [
        node,
        { pods: podsOf(victims), numPDBViolations: violations },
      ]),
    );
  return nodeCacheCapable
    ? { pod, nodeNameToMetaVictims: byNode((victims) => victims.map(({ uid }) => ({ uid }))) }
    : { pod, nodeNameToVictims: byNode((victims) => victims.map((victim) => victim.pod)) };
}

function candidatesOf(
  config: ExtenderConfig,
  { nodeNameToMetaVictims = {} }: Answer,
  snapshot: Snapshot,
): readonly Candidate[] {
  const candidates: Candidate[] = [];
  for (const [name, answer] of Object.entries(nodeNameToMetaVictims)) {
    const node = snapshot.node(name);
    if (node === undefined) throw new Error(`nodeinfo not found for node name "${name}"`);
    const victims = (answer?.pods ?? []).map(({ uid }) => {
      const victim = node.pods.get(uid);
      if (victim !== undefined) return victim;
      throw new Error(
        `extender: ${config.urlPrefix} claims to preempt pod (UID: ${uid}) on node: ${name}, but the pod is not found on that node`,
      );
    });
    if (victims.length > 0) {
      candidates.push({ node: name, victims, violations: answer?.numPDBViolations ?? 0 });
    } else if (!config.ignorable) {
      throw new Error(`expected at least one victim pod on node "${name}"`);
    }
  }
  return candidates;
}
