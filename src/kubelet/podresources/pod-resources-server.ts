/**
 * The pod resources API on `pod-resources/kubelet.sock` below the kubelet's folder: monitoring agents
 * and device plug-ins ask it which container has which resources.
 *
 * Promises:
 * 1. List and Get name active pods only; GetAllocatableResources names what could be allocated,
 *    whether it is or not.
 * 2. More than REQUESTS_PER_SECOND are refused with RESOURCE_EXHAUSTED, as upstream does.
 */
import { join } from "node:path";
import type { Pod } from "#api/generated/core.v1.ts";
import type { MemoryBlock } from "#kubelet/decide/resources/memory-state.ts";
import { GRPC_CODES, GrpcError } from "#lib/grpc/grpc-status.ts";
import { runUnixServer, unaryMethod } from "#lib/grpc/unix-server.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";
import {
  describePod,
  devicesMessage,
  type KnownDevice,
  memoryMessage,
  type ResourceSources,
} from "./pod-resources.ts";
import { type GetPodResourcesRequest, podResourcesMethods } from "./pod-resources-messages.ts";

const REQUESTS_PER_SECOND = 100;
const BURST = 10;
const REQUEST_BYTES_MAX = 64 * 1024;

export interface PodResourcesOptions {
  /** `/var/lib/kubelet` */
  readonly root: string;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly sources: ResourceSources;
  activePods(): readonly Pod[];
  allocatableCpus(): readonly number[];
  allocatableMemory(): readonly MemoryBlock[];
  /** Healthy ones. */
  allocatableDevices(): readonly KnownDevice[];
}

/** Resolves when it listens. */
export async function runPodResourcesServer(
  options: PodResourcesOptions,
  signal: AbortSignal,
): Promise<void> {
  const { root, clock, sources } = options;
  const count = requestCounters(options.metrics);
  const take = tokenBucket(clock);
  const limited =
    <Request, Response>(answer: (request: Request) => Response) =>
    (request: Request): Response => {
      if (!take()) throw new GrpcError(GRPC_CODES.RESOURCE_EXHAUSTED, "rejected by rate limit");
      return answer(request);
    };
  /** Requests that fail are counted as well. */
  const counted = <Response>(method: Method, answer: () => Response): Response => {
    try {
      return answer();
    } catch (error) {
      count("v1", `errors_${method}`);
      throw error;
    }
  };
  const { list, get, getAllocatableResources, alphaList } = podResourcesMethods;
  const all = () => options.activePods().map((pod) => describePod(pod, sources));
  const methods = [
    unaryMethod(
      list,
      limited(() => {
        count("v1", "list");
        return counted("list", () => ({ podResources: all() }));
      }),
    ),
    unaryMethod(
      getAllocatableResources,
      limited(() => {
        count("v1", "get_allocatable");
        return counted("get_allocatable", () => ({
          devices: devicesMessage(options.allocatableDevices()),
          cpuIds: options.allocatableCpus(),
          memory: memoryMessage(options.allocatableMemory()),
        }));
      }),
    ),
    unaryMethod(
      get,
      limited(({ podName, podNamespace }: GetPodResourcesRequest) => {
        count("v1", "get");
        return counted("get", () => {
          const pod = options
            .activePods()
            .find((one) => isNamed(one, podNamespace ?? "", podName ?? ""));
          if (pod === undefined) {
            throw new GrpcError(
              GRPC_CODES.UNKNOWN,
              `pod ${podName} in namespace ${podNamespace} not found`,
            );
          }
          return { podResources: describePod(pod, sources) };
        });
      }),
    ),
    unaryMethod(
      alphaList,
      limited(() => {
        count("v1alpha1", "list");
        const podResources = all().map(({ name, namespace, containers = [] }) => ({
          ...{ name, namespace },
          containers: containers.map((one) => ({
            name: one.name,
            devices: (one.devices ?? []).map(({ resourceName, deviceIds }) => ({
              resourceName,
              deviceIds,
            })),
          })),
        }));
        return { podResources };
      }),
    ),
  ];
  const socket = join(root, "pod-resources", "kubelet.sock");
  await runUnixServer({ socket, methods, requestBytesMax: REQUEST_BYTES_MAX }, signal);
}

/** A full bucket of BURST tokens that fills at the rate. */
function tokenBucket(clock: Clock): () => boolean {
  let tokens = BURST;
  let filledMs = clock.elapsedMs();
  return () => {
    const nowMs = clock.elapsedMs();
    tokens = Math.min(BURST, tokens + ((nowMs - filledMs) * REQUESTS_PER_SECOND) / 1000);
    filledMs = nowMs;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

function isNamed({ metadata }: Pod, namespace: string, name: string): boolean {
  return metadata.name === name && metadata.namespace === namespace;
}

type Method = "list" | "get" | "get_allocatable";
type Counted = Method | `errors_${Method}`;

function requestCounters(metrics: Metrics): (version: string, counted: Counted) => void {
  const labels = ["server_api_version"];
  const counter = (name: string, help: string) =>
    metrics.counter({ name: `kubelet_pod_resources_endpoint_${name}`, help, labels });
  const total = counter("requests_total", "Requests to the pod resources API.");
  const byMethod = {
    list: counter("requests_list", "… to List."),
    get: counter("requests_get", "… to Get."),
    get_allocatable: counter("requests_get_allocatable", "… to GetAllocatableResources."),
    errors_list: counter("errors_list", "Requests to List that failed."),
    errors_get: counter("errors_get", "Requests to Get that failed."),
    errors_get_allocatable: counter(
      "errors_get_allocatable",
      "Requests to GetAllocatableResources that failed.",
    ),
  };
  return (version, counted) => {
    if (!counted.startsWith("errors_")) total(version).add(1);
    byMethod[counted](version).add(1);
  };
}
