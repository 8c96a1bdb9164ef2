/**
 * The contract of a cloud provider: what the cloud controller manager asks of a cloud. Its meaning is
 * that of upstream's `cloudprovider.Interface`; each part is optional, and a controller runs only if the
 * part that it needs is there.
 *
 * Promises to a provider:
 * 1. Objects that it is given are frozen; it never changes them.
 * 2. No two calls about one Service, and no two about one Node's initialization, run at the same time.
 * 3. Every call may be repeated: after an error, after a restart, after a change of leader.
 * 4. The signal aborts when the manager ends or loses its lease.
 *
 * Promises of a provider:
 * 1. `ensure`, `create` and `remove` are idempotent.
 * 2. A call that fails throws. `retryAfterMs` on the error says when to try again instead of the usual
 *    back-off; `code: "ImplementedElsewhere"` says that another program looks after this load balancer.
 */
import type { LoadBalancerStatus, Node, NodeAddress, Service } from "#api/generated/core.v1.ts";
import type { Client } from "#client/client.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";

export interface CloudProvider {
  /** The scheme of its provider IDs: `<name>://<instance>`. */
  readonly name: string;
  readonly loadBalancers?: LoadBalancers;
  readonly instances?: Instances;
  /** Asked only about instances whose metadata names neither zone nor region. */
  readonly zones?: Zones;
  readonly routes?: Routes;
  /** Called once, when the manager ends. */
  close?(): Promise<void>;
}

export interface LoadBalancers {
  /** Undefined if the Service has no load balancer. */
  get(
    clusterName: string,
    service: Service,
    signal: AbortSignal,
  ): Promise<LoadBalancerStatus | undefined>;
  /** Makes it, or changes it to what the Service says now. */
  ensure(
    clusterName: string,
    service: Service,
    nodes: readonly Node[],
    signal: AbortSignal,
  ): Promise<LoadBalancerStatus>;
  /** Only the nodes have changed. */
  update(
    clusterName: string,
    service: Service,
    nodes: readonly Node[],
    signal: AbortSignal,
  ): Promise<void>;
  /** Succeeds if there is none. */
  remove(clusterName: string, service: Service, signal: AbortSignal): Promise<void>;
}

/** Upstream's InstancesV2. A node is found by `spec.providerID` first, else by its name. */
export interface Instances {
  /** False deletes the Node. True for machines that are stopped. */
  exists(node: Node, signal: AbortSignal): Promise<boolean>;
  isShutdown(node: Node, signal: AbortSignal): Promise<boolean>;
  /** Undefined: this node is not the provider's to initialize. */
  metadata(node: Node, signal: AbortSignal): Promise<InstanceMetadata | undefined>;
}

export interface InstanceMetadata {
  readonly providerId?: string;
  readonly instanceType?: string;
  readonly addresses?: readonly NodeAddress[];
  readonly zone?: string;
  readonly region?: string;
  /** Labels below kubernetes.io and k8s.io, and those that the node has already, are left out. */
  readonly additionalLabels?: Readonly<Record<string, string>>;
}

export interface Zone {
  readonly zone?: string;
  readonly region?: string;
}

export interface Zones {
  zoneOf(node: Node, signal: AbortSignal): Promise<Zone>;
}

export interface Route {
  /** The provider's own name of it; empty in `create`. */
  readonly name: string;
  readonly targetNode: string;
  readonly destinationCidr: string;
  /** Where it is given, a change of the node's addresses makes the route anew. */
  readonly targetNodeAddresses?: readonly NodeAddress[];
  /** It leads nowhere: it is removed. */
  readonly blackhole?: boolean;
}

export interface Routes {
  list(clusterName: string, signal: AbortSignal): Promise<readonly Route[]>;
  create(clusterName: string, nameHint: string, route: Route, signal: AbortSignal): Promise<void>;
  remove(clusterName: string, route: Route, signal: AbortSignal): Promise<void>;
}

/** What a provider is made with. */
export interface ProviderContext {
  /** The text of the file of `--cloud-config`; empty without one. */
  readonly config: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** May do what the cloud controller manager may. */
  readonly client: Client;
}

export type CreateProvider = (context: ProviderContext) => CloudProvider | Promise<CloudProvider>;

export function isImplementedElsewhere(error: unknown): boolean {
  return propertyOf(error, "code") === "ImplementedElsewhere";
}

/** When the provider wants to be asked again, if it says so. */
export function retryAfterMsOf(error: unknown): number | undefined {
  const value = propertyOf(error, "retryAfterMs");
  return typeof value === "number" && value >= 0 ? value : undefined;
}

function propertyOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
