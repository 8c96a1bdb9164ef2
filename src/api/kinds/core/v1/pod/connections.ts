/** Subresources of a pod that do not write the pod itself: streams, the proxy, the log, binding and eviction. */
import { builtInSchema } from "#api/schema/from-facts.ts";
import {
  connectRoute,
  createRoute,
  proxyRoute,
  type SubresourceRoute,
  streamRoute,
} from "#api/subresource-route.ts";

export const POD_CONNECTIONS: readonly SubresourceRoute[] = [
  streamRoute("attach", "PodAttachOptions"),
  createRoute(
    "binding",
    { group: "", version: "", kind: "Binding" },
    builtInSchema("core.v1.Binding"),
  ),
  createRoute(
    "eviction",
    { group: "policy", version: "v1", kind: "Eviction" },
    builtInSchema("policy.v1.Eviction"),
  ),
  streamRoute("exec", "PodExecOptions"),
  connectRoute("log", "Pod", ["get"], "PodLogOptions"),
  streamRoute("portforward", "PodPortForwardOptions"),
  proxyRoute("PodProxyOptions"),
];
