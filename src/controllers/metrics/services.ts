/** What is measured of EndpointSlices, of autoscalers, and of what every namespace is given. */
import { horizontalPodAutoscalerKind } from "#api/kinds/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import type { Measure, Outcome } from "#runtime/controller.ts";
import { SYNC_SECONDS, writesOf } from "./common.ts";

export const measureSlices: Measure<unknown> = (metrics, caches) => {
  const name = (rest: string): string => `endpoint_slice_controller_${rest}`;
  const syncs = metrics.counter({
    name: name("syncs"),
    help: "How often services were looked at.",
    labels: ["result"],
  });
  const changes = metrics.counter({
    name: name("changes"),
    help: "Changes of slices.",
    labels: ["operation"],
  });
  const own = () => [...caches(endpointSliceKind).list()].filter(isOwn);
  metrics.gaugeOf({ name: name("num_endpoint_slices"), help: "Slices." }, () => own().length);
  metrics.gaugeOf({ name: name("endpoints_desired"), help: "Endpoints in all slices." }, () =>
    own().reduce((sum, { endpoints }) => sum + (endpoints ?? []).length, 0),
  );
  return ({ outcome, refused }) => {
    syncs(refused === undefined ? "success" : "error").add(1);
    if (refused !== undefined) return;
    for (const { op, kind } of writesOf(outcome))
      if (kind.names.kind === endpointSliceKind.names.kind) changes(op).add(1);
  };
};

export const measureMirrors: Measure<unknown> = (metrics) => {
  const seconds = metrics.histogram({
    name: "endpoint_slice_mirroring_controller_endpoints_sync_duration",
    help: "How long it took to mirror endpoints.",
    buckets: SYNC_SECONDS,
  })();
  return ({ seconds: took }) => seconds.observe(took);
};

export const measureRootCertificates: Measure<unknown> = (metrics) => {
  const labels = ["code"];
  const syncs = metrics.counter({
    name: "root_ca_cert_publisher_sync_total",
    help: "How often namespaces were looked at.",
    labels,
  });
  const seconds = metrics.histogram({
    name: "root_ca_cert_publisher_sync_duration_seconds",
    help: "How long it took to look at a namespace.",
    labels,
    buckets: SYNC_SECONDS,
  });
  return ({ refused, seconds: took }) => {
    const code = refused === undefined ? "200" : String(refused.status.code ?? 500);
    syncs(code).add(1);
    seconds(code).observe(took);
  };
};

/** Of the part of its state that says how it went. */
type Scaled = { readonly scale: { readonly ok: boolean } } | undefined;

export const measureAutoscalers: Measure<Scaled> = (metrics, caches) => {
  const name = (rest: string): string => `horizontal_pod_autoscaler_controller_${rest}`;
  const labels = ["action", "error"];
  const syncs = metrics.counter({
    name: name("reconciliations_total"),
    help: "How often autoscalers were looked at.",
    labels,
  });
  const seconds = metrics.histogram({
    name: name("reconciliation_duration_seconds"),
    help: "How long it took to look at an autoscaler.",
    labels,
    buckets: SYNC_SECONDS,
  });
  const all = () => [...caches(horizontalPodAutoscalerKind).list()];
  metrics.gaugeOf(
    { name: name("num_horizontal_pod_autoscalers"), help: "Autoscalers." },
    () => all().length,
  );
  metrics.gaugesOf(
    {
      name: name("desired_replicas"),
      help: "What autoscalers want.",
      labels: ["namespace", "hpa_name"],
    },
    () =>
      all().map(({ metadata, status }) => ({
        labels: [metadata.namespace ?? "", metadata.name ?? ""],
        value: status.desiredReplicas ?? 0,
      })),
  );
  return ({ state, outcome, refused, seconds: took }) => {
    if (state === undefined) return;
    const failed = refused !== undefined || !state.scale.ok;
    const set = [actionOf(state.scale, outcome), failed ? "internal" : "none"] as const;
    syncs(...set).add(1);
    seconds(...set).observe(took);
  };
};

interface Replicas {
  readonly spec?: { readonly replicas?: number };
}

function actionOf(before: object, outcome: Outcome): string {
  const write = writesOf(outcome).find((w) => w.op === "update" && w.subresource === "scale");
  if (write?.op !== "update") return "none";
  const { scale } = before as { readonly scale?: Replicas };
  const wanted = (write.object as Replicas).spec?.replicas ?? 0;
  return wanted > (scale?.spec?.replicas ?? 0) ? "scale_up" : "scale_down";
}

function isOwn({ metadata }: { readonly metadata: { readonly labels?: object } }): boolean {
  const labels = metadata.labels as Readonly<Record<string, string>> | undefined;
  return labels?.["endpointslice.kubernetes.io/managed-by"] === "endpointslice-controller.k8s.io";
}
