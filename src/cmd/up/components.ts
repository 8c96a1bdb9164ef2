/** The components of a cluster in one process. A new one is a line here and a file of its own. */
import type { RunningApiServer } from "../apiserver/run.ts";
import type { Surroundings } from "../apiserver/server-options.ts";
import { apiAccessComponent, isLoopback } from "./api-access-component.ts";
import { apiServerComponent } from "./apiserver-component.ts";
import { cloudComponent } from "./cloud-component.ts";
import type { Component } from "./component.ts";
import { controllerManagerComponent } from "./controller-manager-component.ts";
import { dnsComponent } from "./dns-component.ts";
import { networkPolicyComponent } from "./network-policy-component.ts";
import { nodeComponent } from "./node-component.ts";
import { proxyComponent } from "./proxy-component.ts";
import { schedulerComponent } from "./scheduler-component.ts";
import { simulationComponent } from "./simulation-component.ts";
import type { UpFlags } from "./up-flags.ts";

export function componentsOf(
  surroundings: Surroundings,
  onRunning: (server: RunningApiServer) => void,
  { node, simulate, server, networkPolicy, loadBalancer }: UpFlags,
): readonly Component[] {
  return [
    apiServerComponent(surroundings, onRunning),
    controllerManagerComponent,
    schedulerComponent,
    ...(node ? [nodeComponent, proxyComponent, dnsComponent] : []),
    ...(node && networkPolicy ? [networkPolicyComponent] : []),
    ...(node && loadBalancer ? [cloudComponent] : []),
    ...(simulate > 0 ? [simulationComponent] : []),
    ...(node && isLoopback(server.bindAddress) ? [apiAccessComponent] : []),
  ];
}
