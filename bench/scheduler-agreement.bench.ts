/**
 * Whether kube-scheduler and ours decide alike: seeded clusters, one pod at a time, given to both on
 * the same API server. Runs where K8TS_KUBE_SCHEDULER names the program. K8TS_SEEDS (`1-40`) chooses
 * the clusters; each has six pods.
 */
import type { BenchOptions, Row } from "./row.ts";
import { compareDecisions } from "./scheduler/agreement/compare-decisions.ts";
import type { Agreement } from "./scheduler/agreement/outcome.ts";

export const name = "scheduler-agreement";

const ASPECTS = {
  feasibility: "differ in whether the pod fits",
  nodes: "differ in the nodes that fit or their scores",
  message: "differ in the text of FailedScheduling",
  victims: "differ in the victims of preemption",
} as const satisfies Partial<Record<keyof Agreement, string>>;

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  const program = process.env.K8TS_KUBE_SCHEDULER ?? "";
  if (program === "") return;
  const [first = 1, last = first] = (process.env.K8TS_SEEDS ?? (quick ? "1-5" : "1-50"))
    .split("-")
    .map(Number);
  const seeds = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const counts = new Map<string, number>();
  let cases = 0;
  for await (const { seed, name: one, agreement } of compareDecisions(program, seeds)) {
    cases += 1;
    for (const aspect of Object.keys(ASPECTS) as (keyof typeof ASPECTS)[]) {
      if (!agreement[aspect]) counts.set(aspect, (counts.get(aspect) ?? 0) + 1);
    }
    const { differences } = agreement;
    if (differences.length > 0) progress(`seed ${seed}, ${one}: ${differences.join("; ")}`);
    else if (cases % 50 === 0) progress(`${cases} cases`);
  }
  for (const [aspect, what] of Object.entries(ASPECTS)) {
    yield {
      name: what,
      ...{ value: counts.get(aspect) ?? 0, unit: "cases", limit: cases },
      ...{ limitName: "compared", target: 0 },
    };
  }
}
