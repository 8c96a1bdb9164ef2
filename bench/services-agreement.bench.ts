/**
 * Whether our proxy and upstream's kube-proxy answer alike: seeded Services of all kinds, the same packets
 * to both, in each mode that both have. Runs where K8TS_KUBE_PROXY names the program. K8TS_SEEDS (`1-4`)
 * chooses the Services; each seed has 24 of them in two versions.
 */
import { buildProgram } from "../test/built-program.ts";
import { compareProxies } from "./proxy/agreement/compare-proxies.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "services-agreement";

const MODES = ["nftables", "iptables"] as const;

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  const upstream = process.env.K8TS_KUBE_PROXY ?? "";
  if (upstream === "") return;
  buildProgram();
  const [first = 1, last = first] = (process.env.K8TS_SEEDS ?? (quick ? "1-1" : "1-4"))
    .split("-")
    .map(Number);
  for (const mode of MODES) {
    let [compared, differences] = [0, 0];
    const shares: { own: number; other: number }[] = [];
    for (let seed = first; seed <= last; seed++) {
      progress(`${mode}, seed ${seed}`);
      const result = await compareProxies({ upstream, mode, seed });
      compared += result.compared;
      differences += result.differences.length;
      shares.push(result.shares);
      for (const difference of result.differences) process.stdout.write(`${difference}\n`);
    }
    yield {
      name: `${mode}: answers that differ`,
      ...{ value: differences, unit: "answers", limit: compared, limitName: "compared", target: 0 },
    };
    const mean = (of: "own" | "other"): number =>
      (100 * shares.reduce((sum, share) => sum + share[of], 0)) / shares.length;
    yield {
      name: `${mode}: share of the first of two endpoints`,
      ...{ value: mean("own"), unit: "%", limit: mean("other"), limitName: "kube-proxy" },
    };
  }
}
