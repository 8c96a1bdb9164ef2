/**
 * What has to be done before the server counts as ready, in the order and under the names that
 * upstream's health checks have. Each stands for a step of the start; those of parts that do not exist
 * here (the key of a proxy to other API servers) are not named.
 */

/** Steps of a start that can fail, or take their time. */
export type StartStep =
  | "caches"
  | "access"
  | "flow-control"
  | "priority-classes"
  | "api-services"
  | "namespaces"
  | "kubernetes-service"
  | "published-config"
  | "upkeep";

export interface StartHook {
  readonly name: string;
  readonly step: StartStep;
}

export const START_HOOKS: readonly StartHook[] = [
  hook("start-apiserver-admission-initializer", "caches"),
  hook("generic-apiserver-start-informers", "caches"),
  hook("priority-and-fairness-config-consumer", "flow-control"),
  hook("priority-and-fairness-filter", "flow-control"),
  hook("storage-object-count-tracker-hook", "caches"),
  hook("start-apiextensions-informers", "caches"),
  hook("start-apiextensions-controllers", "caches"),
  hook("crd-informer-synced", "caches"),
  hook("start-system-namespaces-controller", "namespaces"),
  hook("peer-endpoint-reconciler-controller", "upkeep"),
  hook("start-cluster-authentication-info-controller", "published-config"),
  hook("start-kube-apiserver-identity-lease-controller", "upkeep"),
  hook("start-kube-apiserver-identity-lease-garbage-collector", "upkeep"),
  hook("storage-readiness", "caches"),
  hook("start-legacy-token-tracking-controller", "published-config"),
  hook("start-service-ip-repair-controllers", "upkeep"),
  hook("rbac/bootstrap-roles", "access"),
  hook("scheduling/bootstrap-system-priority-classes", "priority-classes"),
  hook("priority-and-fairness-config-producer", "flow-control"),
  hook("bootstrap-controller", "kubernetes-service"),
  hook("start-kubernetes-service-cidr-controller", "kubernetes-service"),
  hook("start-kube-aggregator-informers", "caches"),
  hook("apiservice-status-local-available-controller", "upkeep"),
  hook("apiservice-status-remote-available-controller", "upkeep"),
  hook("apiservice-registration-controller", "api-services"),
  hook("apiservice-discovery-controller", "api-services"),
  hook("kube-apiserver-autoregistration", "api-services"),
  { name: "autoregister-completion", step: "api-services" },
  hook("apiservice-openapi-controller", "api-services"),
  hook("apiservice-openapiv3-controller", "api-services"),
];

function hook(name: string, step: StartStep): StartHook {
  return { name: `poststarthook/${name}`, step };
}
