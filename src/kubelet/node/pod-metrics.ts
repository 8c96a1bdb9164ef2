/** Metrics of pods and their containers, under upstream's names. */
import type { Metrics } from "#lib/metrics.ts";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const SYNC_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60];
const PULL_SECONDS = [
  1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
];
const RESIZE_MS = [
  10, 50, 100, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
];
const MB = 1024 ** 2;
const GB = 1024 ** 3;
/** Sizes from which on an image has the label. */
const IMAGE_SIZES: readonly (readonly [bytes: number, label: string])[] = [
  [0, "0-10MB"],
  [10 * MB, "10MB-100MB"],
  [100 * MB, "100MB-500MB"],
  [500 * MB, "500MB-1GB"],
  [GB, "1GB-5GB"],
  [5 * GB, "5GB-10GB"],
  [10 * GB, "10GB-20GB"],
  [20 * GB, "20GB-30GB"],
  [30 * GB, "30GB-40GB"],
  [40 * GB, "40GB-60GB"],
  [60 * GB, "60GB-100GB"],
  [100 * GB, "GT100GB"],
];
/** Reasons that are counted by their name; others may be too many. */
const REJECTIONS = new Set([
  ...["Evicted", "NodeAffinity", "NodePorts", "NodeShutdown", "OutOfcpu", "OutOfmemory"],
  ...["OutOfephemeral-storage", "OutOfpods", "PodOSNotSupported", "SysctlForbidden"],
  ...["TopologyAffinityError", "SMTAlignmentError", "UnexpectedAdmissionError", "AppArmor"],
  ...["PodOSSelectorNodeLabelDoesNotMatch", "InvalidNodeInfo", "NodeDeclaredFeaturesCheckFailed"],
]);

export type ContainerType = "container" | "init_container" | "ephemeral_container";

export interface PodMetrics {
  /** A sandbox was made for a pod, or could not be. */
  sandbox(handler: string, seconds: number, isFailed: boolean): void;
  /** `failure`: the reason of the container's waiting. */
  containerStarted(type: ContainerType, failure: string | undefined): void;
  imageVolumes(requested: number, mounted: number, failed: number): void;
  userNamespacedPod(isFailed: boolean): void;
  imagePulled(seconds: number, bytes: number): void;
  imageCollected(reason: "age" | "space"): void;
  rejected(reason: string): void;
  /** A pod with so many containers has a worker now. */
  seen(containers: number): void;
  /** The worker began so long after the pod was seen. */
  workerStarted(seconds: number): void;
  /** The runtime had a pod that no source has. */
  orphaned(): void;
  /** A pod was taken away and came back with the same uid. */
  restarted(isStatic: boolean): void;
  statusSynced(seconds: number): void;
  preempted(resource: string): void;
  resizeInfeasible(detail: string): void;
  resized(ms: number, isDone: boolean): void;
  /** What is counted when the page is read. */
  countCertificates(read: () => readonly CertificateCount[]): void;
}

export interface CertificateCount {
  readonly signerName: string;
  readonly state: string;
  readonly count: number;
}

export function addPodMetrics(metrics: Metrics): PodMetrics {
  const counter = (name: string, help: string, labels: readonly string[] = []) =>
    metrics.counter({ name: `kubelet_${name}`, help, labels });
  const histogram = (
    name: string,
    help: string,
    buckets: readonly number[],
    labels: readonly string[] = [],
  ) => metrics.histogram({ name: `kubelet_${name}`, help, buckets, labels });
  const pods = counter("started_pods_total", "Pods that were started.")();
  const podErrors = counter("started_pods_errors_total", "… whose sandbox could not be made.")();
  const handler = ["runtime_handler"];
  const sandboxSeconds = histogram(
    "run_podsandbox_duration_seconds",
    "Time to make a sandbox, by the handler of the RuntimeClass.",
    SECONDS,
    handler,
  );
  const sandboxErrors = counter("run_podsandbox_errors_total", "Sandboxes that failed.", handler);
  const type = "container_type";
  const started = counter("started_containers_total", "Containers that were started.", [type]);
  const startErrors = counter("started_containers_errors_total", "… that could not be.", [
    ...[type, "code"],
  ]);
  const userPods = counter("started_user_namespaced_pods_total", "Pods with hostUsers: false.")();
  const userErrors = counter("started_user_namespaced_pods_errors_total", "… that failed.")();
  const volumes = {
    requested: counter("image_volume_requested_total", "Image volumes of started containers.")(),
    mounted: counter("image_volume_mounted_succeed_total", "… that were mounted.")(),
    failed: counter("image_volume_mounted_errors_total", "… that could not be mounted.")(),
  };
  const pulls = histogram("image_pull_duration_seconds", "Time to pull an image.", PULL_SECONDS, [
    "image_size_in_bytes",
  ]);
  const collected = counter("image_garbage_collected_total", "Images that were removed.", [
    "reason",
  ]);
  const rejections = counter("admission_rejections_total", "Pods that were rejected.", ["reason"]);
  const perPod = histogram("containers_per_pod_count", "Containers of a pod.", [1, 2, 4, 8, 16])();
  const workerStart = histogram(
    "pod_worker_start_duration_seconds",
    "Time from seeing a pod to its worker's first step.",
    SECONDS,
  )();
  const orphans = counter(
    "orphaned_runtime_pods_total",
    "Pods of the container runtime that no source has: left over from before a restart.",
  )();
  const restarts = counter(
    "restarted_pods_total",
    "Pods that were removed and came back with the same uid while the kubelet was running.",
    ["static"],
  );
  for (const label of ["", "true"]) restarts(label).add(0);
  const sync = histogram(
    "pod_status_sync_duration_seconds",
    "Time from a change of a pod's status until the API server has it.",
    SYNC_SECONDS,
  )();
  const preemptions = counter("preemptions", "Pods that were ended for critical ones.", [
    "preemption_signal",
  ]);
  const infeasible = counter("pod_infeasible_resizes_total", "Resizes that cannot be done.", [
    "reason_detail",
  ]);
  const resizes = histogram(
    "pod_resize_duration_milliseconds",
    "Time to carry out a resize.",
    RESIZE_MS,
    ["success"],
  );
  return {
    sandbox: (name, seconds, isFailed) => {
      pods.add(1);
      sandboxSeconds(name).observe(seconds);
      if (!isFailed) return;
      podErrors.add(1);
      sandboxErrors(name).add(1);
    },
    containerStarted: (one, failure) => {
      started(one).add(1);
      if (failure !== undefined) startErrors(one, failure).add(1);
    },
    imageVolumes: (requested, mounted, failed) => {
      volumes.requested.add(requested);
      volumes.mounted.add(mounted);
      volumes.failed.add(failed);
    },
    userNamespacedPod: (isFailed) => (isFailed ? userErrors : userPods).add(1),
    imagePulled: (seconds, bytes) => {
      const label = IMAGE_SIZES.findLast(([from]) => bytes >= from)?.[1] ?? "";
      pulls(label).observe(seconds);
    },
    imageCollected: (reason) => collected(reason).add(1),
    rejected: (reason) => rejections(rejectionLabel(reason)).add(1),
    seen: (containers) => perPod.observe(containers),
    workerStarted: (seconds) => workerStart.observe(seconds),
    orphaned: () => orphans.add(1),
    restarted: (isStatic) => restarts(isStatic ? "true" : "").add(1),
    statusSynced: (seconds) => sync.observe(seconds),
    preempted: (resource) => preemptions(resource).add(1),
    resizeInfeasible: (detail) => infeasible(detail).add(1),
    resized: (ms, isDone) => resizes(String(isDone)).observe(ms),
    countCertificates: (read) =>
      metrics.gaugesOf(
        {
          name: "kubelet_podcertificate_states",
          help: "podCertificate sources of projected volumes, by signer and state.",
          labels: ["signer_name", "state"],
        },
        () =>
          read().map(({ signerName, state, count }) => ({
            labels: [signerName, state],
            value: count,
          })),
      ),
  };
}

function rejectionLabel(reason: string): string {
  if (REJECTIONS.has(reason)) return reason;
  return reason.startsWith("OutOf") ? "OutOfExtendedResources" : "Other";
}
