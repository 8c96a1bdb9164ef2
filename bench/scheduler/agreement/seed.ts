/** An object of a scenario: how it is written to the cluster and removed from it. */
import type { KindOf, KubeObject } from "#api/kind.ts";
import type { Draft } from "#testing/build.ts";
import type { SchedulingBench } from "../scheduling-cluster.ts";

export interface Seed {
  create(bench: SchedulingBench): Promise<void>;
  remove(bench: SchedulingBench): Promise<void>;
}

export function seedOf<T extends KubeObject>(kind: KindOf<T>, draft: Draft<T>): Seed {
  const { namespace = "", name = "" } = (draft as Draft<KubeObject>).metadata ?? {};
  return {
    create: (bench) => bench.seed(kind, [draft]),
    remove: (bench) => bench.remove(kind, namespace, name),
  };
}
