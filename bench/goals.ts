/**
 * The figures that the project wants to reach, one row each, and which row of which benchmark measures
 * them. Upstream's figures (v1.36.4 with etcd 3.5) are recorded ones, of a machine with two cores.
 */
import type { Row } from "./row.ts";

interface Goal {
  readonly measure: string;
  readonly bench: string;
  /** Of these rows the first pattern that matches counts, and of its rows the worst. */
  readonly rows: readonly RegExp[];
  /** An absolute wish, or the ratio to the limit that the row itself has. */
  readonly wish: { readonly value: number; readonly name?: string } | { readonly ratio: number };
}

export interface MeasuredGoals {
  readonly rows: readonly Row[];
  /** Goals that no row of this run measures. */
  readonly missing: readonly string[];
}

const GOALS: readonly Goal[] = [
  goal("start to /readyz", "up", /^process start to \/readyz/, { value: 350 }),
  goal("… within a process", "apiserver", /^… the median of five/, { value: 100 }),
  goal("… to a namespace with its account", "up", /^… to the account/, { value: 400 }),
  goal("… with 20,000 pods in the store", "restart", /after kill -9$/, { value: 1_000 }),
  goal("idle memory", "up", /^idle memory/, { value: 100 }),
  goal("GET a pod, 32 connections", "apiserver", /^GET a pod, .*HTTP\/1/, upstream(10, 2_300)),
  goal("LIST 1,000 pods", "apiserver", /^LIST 1000 pods, HTTP\/1/, upstream(15, 36)),
  goal("durable create, 64 connections", "apiserver", /^durable create, 64/, upstream(6, 1_320)),
  goal("durable create, 1 connection", "apiserver", /^durable create, 1 /, upstream(4, 330)),
  goal("merge-patch, 32 connections", "apiserver", /^merge-patch/, upstream(8, 840)),
  goal("server-side apply, 32 connections", "apiserver", /^server-side apply/, upstream(8, 840)),
  goal("watch fan-out, 200 watchers", "apiserver", /^watch fan-out/, { value: 200_000 }),
  {
    ...{ measure: "schedule 3,000 pods on 1,000 nodes", bench: "scheduler" },
    rows: [
      /^3,000 waiting pods/,
      /^SchedulingBasic, 2,000 pods on 1000/,
      /^SchedulingBasic, \d+ n/,
    ],
    wish: upstream(6, 175),
  },
  goal("Deployment to 1,000 pods", "controllers", /^`up`.* 1,000 pods$/, upstream(8, 436)),
  goal("… and collected", "controllers", /^… collected after/, upstream(10, 195)),
  goal("memory after that load", "controllers", /^… memory after/, { value: 256 }),
  goal("pod created to Ready", "kubelet", /^pod created to Ready/, { ratio: 1.25 }),
  goal("burst of pods", "kubelet", /pods at once$/, { ratio: 0.85 }),
  goal("kubelet memory", "kubelet", /^memory with/, { value: 80 }),
  goal("many nodes and pods, memory", "scale", /: memory$/, { value: 3_072 }),
  goal("… GET p99 meanwhile", "scale", /: GET p99/, { value: 50 }),
  goal("longest wait that a client causes", "attack", /\((anonymous|an? \w+)\)$/, { value: 100 }),
];

/** The benchmarks that the goals need. */
export const GOAL_BENCHES: ReadonlySet<string> = new Set(GOALS.map(({ bench }) => bench));

export function measuredGoals(
  results: readonly { readonly bench: string; readonly rows: readonly Row[] }[],
): MeasuredGoals {
  const rows: Row[] = [];
  const missing: string[] = [];
  for (const one of GOALS) {
    const measured = results.find(({ bench }) => bench === one.bench)?.rows ?? [];
    const row = measuredBy(one, measured);
    if (row === undefined) missing.push(one.measure);
    else rows.push(row);
  }
  return { rows, missing };
}

function goal(measure: string, bench: string, row: RegExp, wish: Goal["wish"]): Goal {
  return { measure, bench, rows: [row], wish };
}

function upstream(factor: number, perSecond: number): Goal["wish"] {
  return { value: factor * perSecond, name: `${factor} × upstream` };
}

function measuredBy({ measure, rows, wish }: Goal, measured: readonly Row[]): Row | undefined {
  for (const pattern of rows) {
    const found = measured.filter(({ name }) => pattern.test(name));
    const [first] = found;
    if (first === undefined) continue;
    if ("ratio" in wish) return { ...first, name: measure, target: wish.ratio };
    const { unit } = first;
    const worst = (unit.endsWith("/s") ? Math.min : Math.max)(...found.map(({ value }) => value));
    const limitName = wish.name ?? "wanted";
    return { name: measure, value: worst, unit, limit: wish.value, limitName, target: 1 };
  }
  return undefined;
}
