/**
 * `k8ts/testing`: a whole cluster inside a test's process. The API server is the real one, on a store in
 * memory, with every controller, the scheduler and simulated nodes; time is virtual and moves only with
 * `advance`, which returns when everything that follows from it has happened.
 */
import type { KindOf, KubeObject } from "#api/kind.ts";
import { findByKind } from "#api/kinds/built-in-kinds.ts";

export type { KindOf } from "#api/kind.ts";
export { builtInControllers } from "#controllers/registry/controllers.ts";
export { build, type Draft } from "#testing/build.ts";
export {
  type Cluster,
  type ClusterOptions,
  type ComponentName,
  type Faults,
  type LogOptions,
  startCluster,
} from "#testing/test-cluster.ts";

/** A kind of Kubernetes: `builtInKind<Pod>("v1", "Pod")`, with the type from `k8ts/types/core.v1`. */
export function builtInKind<T extends KubeObject>(apiVersion: string, kind: string): KindOf<T> {
  const slash = apiVersion.indexOf("/");
  const found = findByKind(
    apiVersion.slice(0, Math.max(0, slash)),
    apiVersion.slice(slash + 1),
    kind,
  );
  if (found === undefined) throw new Error(`there is no kind ${kind} in ${apiVersion}`);
  return found;
}
