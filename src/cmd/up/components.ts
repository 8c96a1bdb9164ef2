/** The components of a cluster in one process. A new one is a line here and a file of its own. */
import type { RunningMember } from "#etcd/managed-member.ts";
import { isLoopback } from "#lib/loopback.ts";
import type { RunningApiServer } from "../apiserver/run.ts";
import type { Surroundings } from "../apiserver/server-options.ts";
import type { Component } from "./component.ts";
import { APISERVER, apiServerComponent } from "./components/apiserver-component.ts";
import { etcdComponent } from "./components/etcd-component.ts";
import { loadedComponent } from "./loaded-component.ts";
import type { NodeList } from "./nodes/node-list.ts";
import type { UpFlags } from "./up-flags.ts";

const CONTROLLER_MANAGER = "controller-manager";
const SIMULATION = "simulated-nodes";
const API_ACCESS = "api-access";

export function componentsOf(
  surroundings: Surroundings,
  onRunning: (server: RunningApiServer) => void,
  flags: UpFlags,
  /** Undefined without real nodes. */
  nodes: NodeList | undefined,
): readonly Component[] {
  const { machineNode, simulate, server, networkPolicy, loadBalancer, ingress, metrics } = flags;
  const { etcd } = flags;
  const isLocal = isLoopback(server.bindAddress);
  const hasApiAccess = nodes !== undefined && isLocal;
  let member: RunningMember | undefined;
  const store = etcd === undefined ? [] : [etcdComponent(etcd, (started) => (member = started))];
  const onEtcdMembers: Surroundings["onEtcdMembers"] = (use, signal) =>
    member?.onMembers(use, signal);
  return [
    ...store,
    apiServerComponent(
      etcd === undefined ? surroundings : { ...surroundings, onEtcdMembers },
      onRunning,
      store.map(({ name }) => name),
    ),
    controllerManager,
    scheduler,
    manifests,
    ...(machineNode ? [node, proxy] : []),
    ...(machineNode && networkPolicy ? [policies] : []),
    ...(nodes !== undefined && loadBalancer ? [cloud] : []),
    ...(nodes !== undefined && ingress ? [ingresses] : []),
    ...(simulate > 0 ? [simulation] : []),
    ...(metrics ? [metricsServer(nodes !== undefined, simulate > 0)] : []),
    ...(flags.dashboard ? [dashboard] : []),
    ...(nodes === undefined ? [] : [dns, namespaceNodes(nodes, hasApiAccess)]),
    ...(hasApiAccess ? [apiAccess] : []),
    ...(isLocal ? [] : [join]),
  ];
}

/** It needs the API server because controllers may do nothing before their roles are there. */
const controllerManager = loadedComponent(
  CONTROLLER_MANAGER,
  [APISERVER],
  async () => (await import("./components/controller-manager-component.ts")).runControllerManager,
);

const scheduler = loadedComponent(
  "scheduler",
  [APISERVER],
  async () => (await import("./components/scheduler-component.ts")).runSchedulerComponent,
);

const manifests = loadedComponent(
  "manifests",
  [APISERVER],
  async () => (await import("./components/manifests-component.ts")).runManifests,
);

const node = loadedComponent(
  "node",
  [APISERVER, CONTROLLER_MANAGER],
  async () => (await import("./components/node-component.ts")).runNode,
);

const proxy = loadedComponent(
  "proxy",
  [APISERVER],
  async () => (await import("./components/proxy-component.ts")).runProxyComponent,
);

const policies = loadedComponent(
  "network-policy",
  [APISERVER],
  async () => (await import("./components/network-policy-component.ts")).runNetworkPolicyComponent,
);

const cloud = loadedComponent(
  "cloud-controller-manager",
  [APISERVER],
  async () => (await import("./components/cloud-component.ts")).runCloud,
);

const ingresses = loadedComponent(
  "ingress",
  [APISERVER],
  async () => (await import("./components/ingress-component.ts")).runIngressComponent,
);

const simulation = loadedComponent(
  SIMULATION,
  [APISERVER, CONTROLLER_MANAGER],
  async () => (await import("./components/simulation-component.ts")).runSimulationComponent,
);

const dashboard = loadedComponent(
  "dashboard",
  [APISERVER],
  async () => (await import("./components/dashboard-component.ts")).runDashboard,
);

const dns = loadedComponent(
  "dns",
  [APISERVER],
  async () => (await import("./components/dns-component.ts")).runDnsComponent,
);

const apiAccess = loadedComponent(
  API_ACCESS,
  [APISERVER],
  async () => (await import("./components/api-access-component.ts")).runApiAccess,
);

const join = loadedComponent(
  "join",
  [APISERVER],
  async () => (await import("./components/join-component.ts")).runJoin,
);

/** Pods of real nodes may use it. */
function metricsServer(hasPods: boolean, isSimulated: boolean): Component {
  return loadedComponent(
    "metrics-server",
    [APISERVER, ...(isSimulated ? [SIMULATION] : [])],
    async () => (await import("./components/metrics-component.ts")).runMetrics(hasPods),
  );
}

/** Nodes that are network namespaces reach an API server on loopback through what listens for them. */
function namespaceNodes(list: NodeList, hasApiAccess: boolean): Component {
  return loadedComponent(
    "nodes",
    [APISERVER, CONTROLLER_MANAGER, ...(hasApiAccess ? [API_ACCESS] : [])],
    async () => (await import("./nodes/nodes-component.ts")).runNodes(list),
  );
}
