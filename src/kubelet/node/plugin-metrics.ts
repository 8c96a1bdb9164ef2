/** Metrics of device plug-ins and of DRA drivers, under upstream's names. */
import { GRPC_CODES, GrpcError, goCodeName } from "#lib/grpc/grpc-status.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** 15 bounds from 0.1 to 40 seconds, each the same multiple of the one before. */
const DRA_SECONDS = Array.from({ length: 15 }, (_, at) => 0.1 * 400 ** (at / 14));

export interface PluginMetrics {
  /** A device plug-in asked to be registered, whether it was or not. */
  deviceRegistration(resource: string): void;
  /** Measures a call of Allocate. */
  deviceAllocation<T>(resource: string, work: () => Promise<T>): Promise<T>;
  /** All claims of a pod were prepared or released, or could not be. */
  draOperation<T>(name: DraOperation, work: () => Promise<T>): Promise<T>;
  draCall<T>(driver: string, method: string, work: () => Promise<T>): Promise<T>;
  /** By driver, and of all under the name `<any>`: what is counted when the page is read. */
  countClaims(read: () => ReadonlyMap<string, number>): void;
}

type DraOperation = "PrepareResources" | "UnprepareResources";

export function addPluginMetrics(metrics: Metrics, clock: Clock): PluginMetrics {
  const registrations = metrics.counter({
    name: "kubelet_device_plugin_registration_total",
    help: "Registrations of device plug-ins, by resource.",
    labels: ["resource_name"],
  });
  const allocations = metrics.histogram({
    name: "kubelet_device_plugin_alloc_duration_seconds",
    help: "Time that device plug-ins took to answer Allocate, by resource.",
    labels: ["resource_name"],
    buckets: SECONDS,
  });
  const operations = metrics.histogram({
    name: "dra_operations_duration_seconds",
    help: "Time to prepare or to release all ResourceClaims of a pod.",
    labels: ["operation_name", "is_error"],
    buckets: DRA_SECONDS,
  });
  const calls = metrics.histogram({
    name: "dra_grpc_operations_duration_seconds",
    help: "Time of calls of DRA drivers.",
    labels: ["driver_name", "method_name", "grpc_status_code"],
    buckets: DRA_SECONDS,
  });
  const timed = async <T>(
    work: () => Promise<T>,
    done: (seconds: number, error: unknown) => void,
  ): Promise<T> => {
    const startMs = clock.elapsedMs();
    const seconds = (): number => (clock.elapsedMs() - startMs) / 1000;
    try {
      const result = await work();
      done(seconds(), undefined);
      return result;
    } catch (error) {
      done(seconds(), error);
      throw error;
    }
  };
  return {
    deviceRegistration: (resource) => registrations(resource).add(1),
    deviceAllocation: (resource, work) =>
      timed(work, (seconds) => allocations(resource).observe(seconds)),
    draOperation: (name, work) =>
      timed(work, (seconds, error) =>
        operations(name, String(error !== undefined)).observe(seconds),
      ),
    draCall: (driver, method, work) =>
      timed(work, (seconds, error) => calls(driver, method, codeOf(error)).observe(seconds)),
    countClaims: (read) =>
      metrics.gaugesOf(
        {
          name: "dra_resource_claims_in_use",
          help: "ResourceClaims that are prepared on the node, by driver and of all drivers (<any>).",
          labels: ["driver_name"],
        },
        () => [...read()].map(([driver, value]) => ({ labels: [driver], value })),
      ),
  };
}

function codeOf(error: unknown): string {
  if (error === undefined) return goCodeName(GRPC_CODES.OK);
  return goCodeName(error instanceof GrpcError ? error.code : GRPC_CODES.UNKNOWN);
}
