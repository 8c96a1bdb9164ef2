/** The controllers of the cloud controller manager, for the parts that a provider has. */
import type { Controller } from "#runtime/controller.ts";
import { cloudNode } from "./node/cloud-node.ts";
import { cloudNodeLifecycle } from "./node/cloud-node-lifecycle.ts";
import type { CloudProvider } from "./provider.ts";
import { routeController } from "./route/route-controller.ts";
import { serviceController } from "./service/service-controller.ts";

export interface CloudControllerOptions {
  readonly clusterName: string;
  /** Routes are configured only where they are given. */
  readonly clusterCidrs: readonly string[];
  readonly nodeMonitorPeriodMs: number;
  readonly nodeStatusUpdateMs: number;
  readonly routePeriodMs: number;
  readonly nodeWorkers: number;
  readonly serviceWorkers: number;
}

/** Upstream's. */
export const CLOUD_CONTROLLER_DEFAULTS: CloudControllerOptions = {
  clusterName: "kubernetes",
  clusterCidrs: [],
  nodeMonitorPeriodMs: 5_000,
  nodeStatusUpdateMs: 300_000,
  routePeriodMs: 10_000,
  nodeWorkers: 1,
  serviceWorkers: 1,
};

/** Canonical names, and the old ones that flags may use. */
export const CLOUD_CONTROLLER_NAMES: Readonly<Record<string, string>> = {
  "cloud-node-controller": "cloud-node",
  "cloud-node-lifecycle-controller": "cloud-node-lifecycle",
  "node-route-controller": "route",
  "service-lb-controller": "service",
};

// biome-ignore lint/suspicious/noExplicitAny: controllers of different states run together
export type CloudController = Controller<any, any>;

export interface CloudControllers {
  readonly controllers: readonly CloudController[];
  /** Those that cannot run, and why. */
  readonly missing: readonly { readonly name: string; readonly why: string }[];
}

export function cloudControllers(
  { instances, zones, loadBalancers, routes }: CloudProvider,
  options: CloudControllerOptions,
): CloudControllers {
  const { clusterName, clusterCidrs, nodeMonitorPeriodMs, nodeStatusUpdateMs } = options;
  const controllers: CloudController[] = [];
  const missing: { name: string; why: string }[] = [];
  if (instances === undefined) {
    const why = "the cloud provider does not support instances";
    missing.push({ name: "cloud-node-controller", why });
    missing.push({ name: "cloud-node-lifecycle-controller", why });
  } else {
    const statusUpdateMs = nodeStatusUpdateMs;
    controllers.push(cloudNode({ instances, zones, statusUpdateMs, workers: options.nodeWorkers }));
    controllers.push(cloudNodeLifecycle({ instances, monitorPeriodMs: nodeMonitorPeriodMs }));
  }
  if (loadBalancers === undefined) {
    const why = "the cloud provider does not support external load balancers";
    missing.push({ name: "service-lb-controller", why });
  } else {
    const workers = options.serviceWorkers;
    controllers.push(serviceController({ balancers: loadBalancers, clusterName, workers }));
  }
  if (routes === undefined || clusterCidrs.length === 0) {
    const why =
      routes === undefined
        ? "the cloud provider does not support routes"
        : "--allocate-node-cidrs, --configure-cloud-routes and --cluster-cidr are not all set";
    missing.push({ name: "node-route-controller", why });
  } else {
    const periodMs = options.routePeriodMs;
    controllers.push(routeController({ routes, clusterName, clusterCidrs, periodMs }));
  }
  return { controllers, missing };
}
