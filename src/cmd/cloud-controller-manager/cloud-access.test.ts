import assert from "node:assert/strict";
import { test } from "vitest";
import type { PolicyRule } from "#api/generated/rbac.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { Client } from "#client/client.ts";
import { ServerEventRecorder } from "#client/event-recorder.ts";
import { runLeaderElection } from "#client/leader-election.ts";
import type { Transport } from "#client/transport.ts";
import { CLOUD_CONTROLLER_DEFAULTS, cloudControllers } from "#cloud/cloud-controllers.ts";
import { CLOUD_LEASE, CLOUD_LEASE_RULES, CLOUD_RULES } from "#cloud/cloud-role.ts";
import { SimulatedCloud } from "#cloud/providers/simulated/simulated-cloud.ts";
import { createSimulatedProvider } from "#cloud/providers/simulated/simulated-provider.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { Runtime } from "#runtime/run.ts";
import { startCluster } from "#testing/cluster.ts";
import { notingRefusals } from "#testing/secured.ts";
import { CLOUD_USER, ensureCloudAccess } from "./cloud-access.ts";

/** The rules of the ClusterRole in Kubernetes' documentation of the cloud controller manager. */
const DOCUMENTED: readonly PolicyRule[] = [
  { resources: ["events"], verbs: ["create", "patch", "update"] },
  { resources: ["nodes"], verbs: ["*"] },
  { resources: ["nodes/status"], verbs: ["patch"] },
  { resources: ["services"], verbs: ["list", "patch", "update", "watch"] },
  { resources: ["serviceaccounts"], verbs: ["create"] },
  { resources: ["persistentvolumes"], verbs: ["get", "list", "update", "watch"] },
  { resources: ["endpoints"], verbs: ["create", "get", "list", "watch", "update"] },
];

test("ClusterRole cloud-controller-manager: within the documented rights but for services/status", () => {
  const documented = (resource: string, verb: string): boolean =>
    DOCUMENTED.some(
      ({ resources = [], verbs }) =>
        resources.includes(resource) && (verbs?.includes(verb) || verbs?.includes("*")),
    );
  const beyond = rightsIn(CLOUD_RULES).filter((right) => {
    const [verb = "", resource = ""] = right.split(" ");
    return !documented(resource, verb);
  });
  assert.deepEqual(beyond, ["patch services/status"]);
});

test("RBAC: every cloud controller works with the ClusterRole, and no right of it is unused", async () => {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const random = seededRandom(1);
  await using cluster = await startCluster({ clock, secured: true });
  const life = new AbortController();
  const { signal } = life;
  await ensureCloudAccess(cluster.client, signal);
  const user = {
    name: CLOUD_USER,
    groups: [
      "system:serviceaccounts",
      "system:serviceaccounts:kube-system",
      "system:authenticated",
    ],
  };
  const refusals: string[] = [];
  const used = new Set<string>();
  const noted = notingRefusals(cluster.transportAs(user, "test"), user, refusals);
  const transport = notingRights(noted, used);
  const client = new Client({ transport, clock, random, fieldManager: "test" });
  const cloud = new SimulatedCloud({ clock });
  const options = { ...CLOUD_CONTROLLER_DEFAULTS, clusterCidrs: ["10.244.0.0/16"] };
  const { controllers, missing } = cloudControllers(createSimulatedProvider(cloud), options);
  assert.deepEqual(missing, []);
  const recorder = new ServerEventRecorder(client, clock, silentLogger);
  const parts = { client, clock, random, logger: silentLogger };
  const runtime = new Runtime({ ...parts, metrics: new Metrics(), recorder });
  const lead = (leading: AbortSignal): Promise<void> =>
    Promise.all([recorder.run(leading), runtime.run(controllers, leading)]).then(() => undefined);
  const lease = { namespace: "kube-system", name: CLOUD_LEASE, identity: "a" };
  const running = runLeaderElection({ ...parts, ...lease }, lead, signal);

  const machine = await cloud.createMachine({ name: "a" }, signal);
  const taint = { key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule" };
  await cluster.seed(nodeKind, {
    metadata: { name: "a" },
    spec: { taints: [taint], podCIDRs: ["10.244.1.0/24"] },
    status: { conditions: [{ type: "Ready", status: "Unknown" }] as never },
  });
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "default", name: "web" },
    spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
  };
  cloud.setFaults([{ operation: "balancer.ensure", message: "busy", times: 3 }]);
  assert.ok((await cluster.client.create(serviceKind, service as never)).ok);
  await cloud.setMachineState(machine.id, "stopped", signal);
  for (let i = 0; i < 60; i++) await cluster.advance(1_000);
  const address = cluster.get(serviceKind, "web")?.status.loadBalancer?.ingress?.[0]?.ip;
  assert.notEqual(address, undefined);
  const taints = cluster.get(nodeKind, "a")?.spec.taints ?? [];
  assert.deepEqual(
    taints.map(({ key }) => key),
    ["node.cloudprovider.kubernetes.io/shutdown"],
  );
  await cluster.client.delete(serviceKind, { namespace: "default", name: "web" });
  await cloud.deleteMachine(machine.id, signal);
  for (let i = 0; i < 20; i++) await cluster.advance(1_000);
  assert.equal(cluster.get(serviceKind, "web"), undefined);
  assert.deepEqual(cluster.names(nodeKind), []);
  life.abort();
  await running;

  assert.deepEqual(refusals, []);
  const granted = rightsIn([...CLOUD_RULES, ...CLOUD_LEASE_RULES]);
  assert.deepEqual(
    granted.filter((right) => !used.has(right)),
    [],
  );
});

function rightsIn(rules: readonly PolicyRule[]): readonly string[] {
  return rules.flatMap(({ resources = [], verbs }) =>
    resources.flatMap((resource) => (verbs ?? []).map((verb) => `${verb} ${resource}`)),
  );
}

/** The same transport; what is asked for is written down. */
function notingRights(inner: Transport, used: Set<string>): Transport {
  return {
    send: (call, signal) => {
      const sub = call.subresource === undefined ? "" : `/${call.subresource}`;
      used.add(`${call.verb} ${call.kind.names.plural}${sub}`);
      return inner.send(call, signal);
    },
    raw: (path, signal) => inner.raw(path, signal),
    watch: (call, signal) => {
      used.add(`watch ${call.kind.names.plural}`);
      // A watch that begins with the state is a list, and a server that cannot do that is asked for one.
      if (call.query.sendInitialEvents === "true") used.add(`list ${call.kind.names.plural}`);
      return inner.watch(call, signal);
    },
  };
}
