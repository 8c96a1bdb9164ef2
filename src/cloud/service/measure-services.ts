/** The service controller's metrics, with upstream's names. */
import type { Measure } from "#runtime/controller.ts";
import type { ServiceState } from "./decide-service.ts";

/** 1 s to 16384 s. */
const BUCKETS = Array.from({ length: 15 }, (_, i) => 2 ** i);

export const measureServices: Measure<ServiceState> = (metrics) => {
  const syncs = metrics.counter({
    name: "service_controller_loadbalancer_sync_total",
    help: "A metric counting the amount of times any load balancer has been configured, as an effect of service/node changes on the cluster",
  })();
  const errors = metrics.counter({
    name: "service_controller_nodesync_error_total",
    help: "A metric counting the amount of times any load balancer has been configured and errored, as an effect of node changes on the cluster",
  })();
  const seconds = metrics.histogram({
    name: "service_controller_update_loadbalancer_host_latency_seconds",
    help: "A metric measuring the latency for updating each load balancer hosts.",
    buckets: BUCKETS,
  })();
  return ({ state: { result }, seconds: took }) => {
    if (result?.of === "ensure") syncs.add(1);
    if (result?.of !== "update-nodes") return;
    syncs.add(1);
    seconds.observe(took);
    if (!result.answer.ok && !result.answer.elsewhere && result.exists) errors.add(1);
  };
};
