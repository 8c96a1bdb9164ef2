/** Whether two proxies gave the same answers to the same packets. */
import type { Target } from "./scenario.ts";

/** How often each answer came. */
export type Answers = Readonly<Record<string, number>>;

/**
 * In words; undefined if both did the same. Flows of UDP clients that kube-proxy leaves with an endpoint
 * that is gone, where a Service has no endpoint any more, are ended by k8ts: that is not compared.
 */
export function differenceOf(target: Target, own: Answers, other: Answers): string | undefined {
  const settled = Object.fromEntries(
    Object.entries(other).filter(([answer]) => !answer.startsWith("kept ")),
  );
  const [mine, theirs] = [own, settled].map((answers) => wordsOf(target, answers));
  return mine === theirs ? undefined : `k8ts ${mine}, kube-proxy ${theirs}: ${target.id}`;
}

/** With session affinity any endpoint may have been chosen, but only one. */
function wordsOf({ isSticky }: Target, answers: Answers): string {
  const all = Object.keys(answers).sort();
  // Some packets without an answer among others with one are those of a busy machine.
  const kinds = all.length > 1 ? all.filter((kind) => kind !== "none") : all;
  return isSticky && kinds.length === 1
    ? kinds[0]!.replace(/^pod.*/, "one pod")
    : kinds.join(" or ");
}
