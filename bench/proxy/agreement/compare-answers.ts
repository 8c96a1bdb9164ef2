/** Whether two proxies gave the same answers to the same packets. */
import type { Target } from "./scenario.ts";

/** How often each answer came. */
export type Answers = Readonly<Record<string, number>>;

/** In words; undefined if both did the same. */
export function differenceOf(target: Target, own: Answers, other: Answers): string | undefined {
  const [mine, theirs] = [own, other].map((answers) => wordsOf(target, answers));
  return mine === theirs ? undefined : `k8ts ${mine}, kube-proxy ${theirs}: ${target.id}`;
}

/** With session affinity any endpoint may have been chosen, but only one. */
function wordsOf({ isSticky }: Target, answers: Answers): string {
  const kinds = Object.keys(answers).sort();
  return isSticky && kinds.length === 1
    ? kinds[0]!.replace(/^pod.*/, "one pod")
    : kinds.join(" or ");
}
