/**
 * Whether kube-apiserver and k8ts answer alike for custom resources: seeded definitions with structural
 * schemas (defaults, pruning, all keywords, formats, list types, CEL rules, some with faults) and
 * requests for objects of them. Each server has a store of its own. Runs where K8TS_KUBE_APISERVER
 * names upstream's program. K8TS_SEEDS (`1-40`) chooses the definitions. Then the rate of creates of
 * the two, in turns: an object with a schema of 100 fields and five CEL rules.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEtcd } from "../test/store/etcd-cluster.ts";
import { compareCreates } from "./custom-resources/agreement/compare-creates.ts";
import { compareSchemas } from "./custom-resources/agreement/compare-schemas.ts";
import { KUBE_APISERVER, startKubeApiServer } from "./load/kube-apiserver.ts";
import { launcherMs, startProgram } from "./load/server-processes.ts";
import type { BenchOptions, Row } from "./row.ts";
import type { Pair } from "./shared-etcd/compared.ts";

export const name = "custom-resources-agreement";

const ASPECTS = ["definition", "create", "update", "patch", "apply", "status", "read"] as const;

export async function* run(options: BenchOptions): AsyncIterable<Row> {
  if (KUBE_APISERVER === "") return;
  const directory = mkdtempSync(join(tmpdir(), "k8ts-bench-crd-agreement-"));
  try {
    await launcherMs(); // builds if need be
    await using etcd = await startEtcd({ directory: join(directory, "etcd") });
    const keysOf = join(directory, "ours");
    await using ours = await startProgram(
      ["apiserver", "--disable-admission-plugins", "ServiceAccount"],
      keysOf,
    );
    const theirDirectory = join(directory, "theirs");
    const upstream = { etcdServers: etcd.endpoints, keysOf, directory: theirDirectory };
    await using theirs = await startKubeApiServer(upstream);
    yield* agreement({ ours, theirs }, options);
    yield* compareCreates({ ours, theirs }, options);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function* agreement(pair: Pair, { quick, progress }: BenchOptions): AsyncIterable<Row> {
  const [first = 1, last = first] = (process.env.K8TS_SEEDS ?? (quick ? "1-5" : "1-60"))
    .split("-")
    .map(Number);
  const seeds = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const counts = new Map<string, { differ: number; all: number }>();
  for await (const { what, fault } of compareSchemas(pair, seeds)) {
    const count = counts.get(what) ?? { differ: 0, all: 0 };
    count.all += 1;
    if (fault !== undefined) {
      count.differ += 1;
      progress(`${what} DIFFERS: ${fault}`);
    }
    counts.set(what, count);
  }
  for (const aspect of ASPECTS) {
    const { differ = 0, all = 0 } = counts.get(aspect) ?? {};
    const limit = { limit: all, limitName: "compared", target: 0 };
    yield { name: `${aspect}: answers that differ`, value: differ, unit: "differ", ...limit };
  }
}
