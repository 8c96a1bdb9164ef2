import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { KubeObject } from "./kube-object.ts";
import { workloadGraph } from "./workload-graph.ts";

function of(kind: string, uid: string, more: object = {}): KubeObject {
  return { apiVersion: "v1", kind, metadata: { name: uid, uid }, ...more };
}

function owned(kind: string, uid: string, owner: string, more: object = {}): KubeObject {
  const metadata = { name: uid, uid, labels: { app: "web" }, ownerReferences: [{ uid: owner }] };
  return of(kind, uid, { metadata, ...more });
}

function sliceOf(service: string, endpoints: unknown): KubeObject {
  const labels = { "kubernetes.io/service-name": service };
  const metadata = { name: `${service}-x`, namespace: "shop", uid: `slice-${service}`, labels };
  return of("EndpointSlice", "", { apiVersion: "discovery.k8s.io/v1", metadata, endpoints });
}

function endpoint(address: string, pod?: string, ready?: boolean): object {
  const conditions = ready === undefined ? {} : { ready };
  const targetRef = pod === undefined ? {} : { targetRef: { kind: "Pod", name: pod } };
  return { addresses: [address], conditions, ...targetRef };
}

/** `a>b`; `a-b` is an edge to an endpoint that is not ready. */
function edgesOf(objects: readonly KubeObject[]): readonly string[] {
  const { edges } = workloadGraph(objects);
  return edges.map(({ from, to, isReady }) => `${from}${isReady ? ">" : "-"}${to}`).toSorted();
}

function shownOf(objects: readonly KubeObject[]): readonly string[] {
  return workloadGraph(objects).nodes.map(
    ({ kind, name, note, isHealthy }) =>
      `${kind} ${name}${note === undefined ? "" : ` ${note}`}${isHealthy ? "" : " unhealthy"}`,
  );
}

const READY = { status: { conditions: [{ type: "Ready", status: "True" }] } };

describe("workload graph", () => {
  test("owners, Ingresses and nodes are connected; ReplicaSets of former revisions are left out", () => {
    const path = { backend: { service: { name: "s" } } };
    const objects = [
      of("Deployment", "d"),
      owned("ReplicaSet", "r", "d", { spec: { replicas: 1 } }),
      owned("ReplicaSet", "old", "d", { spec: { replicas: 0 } }),
      owned("Pod", "p", "r", { spec: { nodeName: "n" } }),
      of("Service", "s"),
      of("Ingress", "i", { spec: { rules: [{ http: { paths: [path, path] } }] } }),
    ];
    assert.deepEqual(edgesOf(objects), ["d>r", "i>s", "p>node/n", "r>p"]);
    assert.equal(workloadGraph(objects).nodes.length, 6);
  });

  test("a Service is connected with the pods of its EndpointSlices, not with those that its selector matches", () => {
    const objects = [
      of("Service", "s", { spec: { selector: { app: "web" } } }),
      owned("Pod", "p", "r", READY),
      owned("Pod", "starting", "r"),
      owned("Pod", "finished", "r", { status: { phase: "Succeeded" } }),
      sliceOf("s", [endpoint("10.0.0.1", "p"), endpoint("10.0.0.2", "starting", false)]),
    ];
    assert.deepEqual(edgesOf(objects), ["s-starting", "s>p"]);
    assert.ok(shownOf(objects).includes("Service s 1 of 2 ready"));
  });

  test("a Service without a selector has its addresses as endpoints, which lead to the EndpointSlice", () => {
    const objects = [
      of("Service", "db"),
      sliceOf("db", [endpoint("192.0.2.1"), endpoint("192.0.2.2", undefined, false)]),
    ];
    assert.deepEqual(edgesOf(objects), ["db-endpoint/192.0.2.2", "db>endpoint/192.0.2.1"]);
    assert.deepEqual(shownOf(objects), [
      "Endpoint 192.0.2.1",
      "Endpoint 192.0.2.2 unhealthy",
      "Service db 1 of 2 ready",
    ]);
    const { object } = workloadGraph(objects).nodes[0]!;
    assert.deepEqual([object.kind, object.metadata.name], ["EndpointSlice", "db-x"]);
  });

  test("a Service whose EndpointSlices have no ready endpoint is unhealthy", () => {
    assert.deepEqual(shownOf([of("Service", "s"), sliceOf("s", null)]), [
      "Service s 0 of 0 ready unhealthy",
    ]);
    assert.deepEqual(shownOf([of("Service", "s")]), ["Service s"]);
  });

  test("a pod with IPv4 and IPv6 addresses is one endpoint", () => {
    const objects = [
      of("Service", "s"),
      owned("Pod", "p", "r", READY),
      sliceOf("s", [endpoint("10.0.0.1", "p")]),
      sliceOf("s", [endpoint("fd00::1", "p")]),
    ];
    assert.deepEqual(edgesOf(objects), ["s>p"]);
    assert.ok(shownOf(objects).includes("Service s 1 of 1 ready"));
  });

  test("at most 500 objects are shown, with the nodes of their pods only", () => {
    const pods = Array.from({ length: 600 }, (_, index) =>
      of("Pod", String(index).padStart(3, "0"), { spec: { nodeName: `n${index}` } }),
    );
    const { nodes, isTruncated } = workloadGraph(pods);
    assert.deepEqual([nodes.length, isTruncated], [1_000, true]);
  });

  test("EndpointSlices with fields of other types do no harm", () => {
    const objects = [of("Service", "s"), sliceOf("s", "x"), sliceOf("s", [7, { addresses: 1 }])];
    assert.deepEqual(edgesOf(objects), []);
  });
});
