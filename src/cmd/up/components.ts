/** The components of a cluster in one process. A new one is a line here and a file of its own. */
import type { RunningMember } from "#etcd/managed-member.ts";
import { isLoopback } from "#lib/loopback.ts";
import type { RunningApiServer } from "../apiserver/run.ts";
import type { Surroundings } from "../apiserver/server-options.ts";
import type { Component } from "./component.ts";
import { apiAccessComponent } from "./components/api-access-component.ts";
import { apiServerComponent } from "./components/apiserver-component.ts";
import { cloudComponent } from "./components/cloud-component.ts";
import { controllerManagerComponent } from "./components/controller-manager-component.ts";
import { dashboardComponent } from "./components/dashboard-component.ts";
import { dnsComponent } from "./components/dns-component.ts";
import { etcdComponent } from "./components/etcd-component.ts";
import { ingressComponent } from "./components/ingress-component.ts";
import { joinComponent } from "./components/join-component.ts";
import { manifestsComponent } from "./components/manifests-component.ts";
import { metricsComponent } from "./components/metrics-component.ts";
import { networkPolicyComponent } from "./components/network-policy-component.ts";
import { nodeComponent } from "./components/node-component.ts";
import { proxyComponent } from "./components/proxy-component.ts";
import { schedulerComponent } from "./components/scheduler-component.ts";
import { SIMULATION, simulationComponent } from "./components/simulation-component.ts";
import type { NodeList } from "./nodes/node-list.ts";
import { nodesComponent } from "./nodes/nodes-component.ts";
import type { UpFlags } from "./up-flags.ts";

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
  const apiAccess = nodes !== undefined && isLocal ? [apiAccessComponent] : [];
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
    controllerManagerComponent,
    schedulerComponent,
    manifestsComponent,
    ...(machineNode ? [nodeComponent, proxyComponent] : []),
    ...(machineNode && networkPolicy ? [networkPolicyComponent] : []),
    ...(nodes !== undefined && loadBalancer ? [cloudComponent] : []),
    ...(nodes !== undefined && ingress ? [ingressComponent] : []),
    ...(simulate > 0 ? [simulationComponent] : []),
    ...(metrics ? [metricsComponent(nodes !== undefined, simulate > 0 ? [SIMULATION] : [])] : []),
    ...(flags.dashboard ? [dashboardComponent] : []),
    ...(nodes === undefined
      ? []
      : [
          dnsComponent,
          nodesComponent(
            nodes,
            apiAccess.map(({ name }) => name),
          ),
        ]),
    ...apiAccess,
    ...(isLocal ? [] : [joinComponent]),
  ];
}
