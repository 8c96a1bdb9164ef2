import assert from "node:assert/strict";
import { test } from "vitest";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Cache } from "#client/cache.ts";
import { Metrics } from "#lib/metrics.ts";
import { startCluster } from "#testing/cluster.ts";
import { ClusterState } from "./cluster-state.ts";

test("kube-state-metrics names: nodes, pods and deployments as Prometheus text", async () => {
  await using cluster = await startCluster();
  const labels = { app: "web" };
  await cluster.seed(namespaceKind, { metadata: { name: "shop" }, status: { phase: "Active" } });
  await cluster.seed(deploymentKind, {
    metadata: { name: "web" },
    spec: {
      ...{ replicas: 3, selector: { matchLabels: labels } },
      template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "web" }] } },
    },
    status: {
      ...{ replicas: 3, availableReplicas: 2, unavailableReplicas: 1 },
      conditions: [{ type: "Available", status: "False" }],
    },
  });
  await cluster.seed(nodeKind, {
    metadata: { name: "n1", labels: { "node-role.kubernetes.io/worker": "" } },
    spec: { unschedulable: true },
    status: {
      allocatable: { cpu: "1500m", memory: "1Gi", pods: "110" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  });
  await cluster.seed(podKind, {
    metadata: { name: "web-1" },
    spec: {
      nodeName: "n1",
      containers: [{ name: "web", image: "web", resources: { requests: { cpu: "250m" } } }],
    },
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: "False" }],
      containerStatuses: [
        {
          ...{ name: "web", ready: false, restartCount: 4, image: "web", imageID: "id" },
          state: { waiting: { reason: "CrashLoopBackOff" } },
          lastState: { terminated: { reason: "OOMKilled", exitCode: 137 } },
        },
      ],
    },
  });
  const nodes = new Cache<Node>();
  for (const node of cluster.list(nodeKind)) nodes.put(node);
  const pods = new Cache<Pod>();
  for (const pod of cluster.list(podKind)) pods.put(pod);
  const { client, clock } = cluster;
  const state = new ClusterState({ client, clock, metrics: new Metrics(), nodes, pods });
  const lines = new Set((await state.text()).split("\n"));
  const pod = `namespace="default",pod="web-1",uid="${pods.get("default", "web-1")?.metadata.uid}"`;
  const wanted = [
    'kube_deployment_spec_replicas{namespace="default",deployment="web"} 3',
    'kube_deployment_status_replicas_available{namespace="default",deployment="web"} 2',
    'kube_deployment_status_condition{namespace="default",deployment="web",condition="Available",status="false"} 1',
    'kube_node_status_condition{node="n1",condition="Ready",status="true"} 1',
    'kube_node_status_allocatable{node="n1",resource="cpu",unit="core"} 1.5',
    'kube_node_status_allocatable{node="n1",resource="memory",unit="byte"} 1073741824',
    'kube_node_role{node="n1",role="worker"} 1',
    'kube_node_spec_unschedulable{node="n1"} 1',
    `kube_pod_status_phase{${pod},phase="Running"} 1`,
    `kube_pod_status_phase{${pod},phase="Failed"} 0`,
    `kube_pod_status_ready{${pod},condition="false"} 1`,
    `kube_pod_container_status_restarts_total{${pod},container="web"} 4`,
    `kube_pod_container_status_waiting_reason{${pod},container="web",reason="CrashLoopBackOff"} 1`,
    `kube_pod_container_status_last_terminated_reason{${pod},container="web",reason="OOMKilled"} 1`,
    `kube_pod_container_resource_requests{${pod},container="web",node="n1",resource="cpu",unit="core"} 0.25`,
    'kube_namespace_status_phase{namespace="shop",phase="Active"} 1',
    "# TYPE kube_pod_container_status_restarts_total counter",
  ];
  assert.deepEqual(
    wanted.filter((line) => !lines.has(line)),
    [],
  );
});
