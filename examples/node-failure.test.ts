/** A zone fails: what an application with replicas in two zones goes through, minute by minute. */
import assert from "node:assert/strict";
import { builtInKind, startCluster } from "k8ts/testing";
import { test } from "vitest";

interface Pod {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: { readonly name?: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const podKind = builtInKind<Pod>("v1", "Pod");
const nodeKind = builtInKind("v1", "Node");

const WEB = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 4
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: { matchLabels: { app: web } }
      tolerations:
        - { key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 30 }
      containers: [{ name: web, image: web }]
`;

test("the example of a failure: pods of a lost zone run elsewhere after their toleration", async () => {
  const cluster = await startCluster({ nodes: 4, simulation: { nodes: { zones: ["a", "b"] } } });
  try {
    await cluster.apply(WEB);
    const onZoneA = (pod: Pod): boolean => ["sim-0", "sim-2"].includes(pod.spec.nodeName ?? "");
    const ready = (): readonly Pod[] =>
      cluster
        .list(podKind)
        .filter(({ status }) =>
          status.conditions?.some((c) => c.type === "Ready" && c.status === "True"),
        );
    assert.equal(ready().filter(onZoneA).length, 2);

    for (const name of ["sim-0", "sim-2"]) {
      await cluster.edit(nodeKind, name, (node) => {
        node.metadata.annotations = { "sim.k8ts.io/failure": "unreachable" };
      });
    }
    await cluster.advance("55s"); // no heartbeat for 50 s
    assert.equal(ready().length, 2, "pods of lost nodes count as not ready");

    await cluster.until(() => ready().length === 4, "5m");
    assert.equal(ready().filter(onZoneA).length, 0, "the other zone has taken over");

    for (const name of ["sim-0", "sim-2"]) {
      await cluster.edit(nodeKind, name, (node) => void delete node.metadata.annotations);
    }
    await cluster.until(() => cluster.list(podKind).length === 4, "5m");
  } finally {
    await cluster[Symbol.asyncDispose]();
  }
});
