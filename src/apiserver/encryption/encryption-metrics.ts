/** Metrics of encryption at rest, under upstream's names. */
import { createHash } from "node:crypto";
import type { Counter, Gauge, Histogram, Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { EncryptionError } from "./transformer.ts";

type Direction = "from_storage" | "to_storage";

/** Counts one transformation of a value; `error` says why it failed. */
export type CountTransformation = (
  direction: Direction,
  resource: string,
  prefix: string,
  seconds: number,
  error: EncryptionError | undefined,
) => void;

export interface EncryptionMetrics {
  readonly count: CountTransformation;
  readonly kms: KmsMetrics;
  readonly config: ConfigMetrics;
}

export interface KmsMetrics {
  cacheMiss(): void;
  keyGenerated(seconds: number, failed: boolean): void;
  called(provider: string, method: string, grpcCode: string, seconds: number): void;
  keyUsed(direction: Direction, provider: string, keyId: string): void;
  statusKey(provider: string, keyId: string): void;
  invalidStatusKey(provider: string, fault: string): void;
  cacheSize(provider: string, size: number): void;
}

export interface ConfigMetrics {
  reloaded(status: "success" | "failure"): void;
  inForce(configHash: string): void;
}

export function createEncryptionMetrics(
  metrics: Metrics,
  clock: Pick<Clock, "nowMs">,
  identity: string,
): EncryptionMetrics {
  const server = hashOf(identity);
  return {
    count: countTransformations(metrics),
    kms: kmsMetrics(metrics, clock, server),
    config: configMetrics(metrics, clock, server),
  };
}

/** As upstream shows what should not be shown itself: key ids and server names. */
export function hashOf(text: string): string {
  return text === "" ? "" : `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

function countTransformations(metrics: Metrics): CountTransformation {
  const durations = metrics.histogram({
    name: "apiserver_storage_transformation_duration_seconds",
    help: "Latencies in seconds of value transformation operations.",
    labels: ["transformation_type", "transformer_prefix"],
    buckets: exponential(5e-6, 25),
  });
  const operations = metrics.counter({
    name: "apiserver_storage_transformation_operations_total",
    help: "Total number of transformations. Successful transformation will have a status 'OK' and a varied status string when the transformation fails.",
    labels: ["resource", "transformation_type", "transformer_prefix", "status"],
  });
  const bound = new Map<string, { total: Counter; duration: Histogram }>();
  return (direction, resource, prefix, seconds, error) => {
    if (error !== undefined) {
      operations(resource, direction, prefix, error.grpcCode ?? "unknown-non-grpc").add(1);
      return;
    }
    const key = `${direction} ${resource} ${prefix}`;
    const series = bound.get(key) ?? {
      total: operations(resource, direction, prefix, "OK"),
      duration: durations(direction, prefix),
    };
    if (bound.size < BOUND_MAX) bound.set(key, series);
    series.total.add(1);
    series.duration.observe(seconds);
  };
}

/** Resources times prefixes: what a configuration can name. */
const BOUND_MAX = 2_000;

function kmsMetrics(metrics: Metrics, clock: Pick<Clock, "nowMs">, server: string): KmsMetrics {
  const misses = metrics.counter({
    name: "apiserver_storage_envelope_transformation_cache_misses_total",
    help: "Total number of cache misses while accessing key decryption key(KEK).",
  })();
  const generated = metrics.histogram({
    name: "apiserver_storage_data_key_generation_duration_seconds",
    help: "Latencies in seconds of data encryption key(DEK) generation operations.",
    buckets: exponential(5e-6, 14),
  })();
  const notGenerated = metrics.counter({
    name: "apiserver_storage_data_key_generation_failures_total",
    help: "Total number of failed data encryption key(DEK) generation operations.",
  })();
  const operations = metrics.histogram({
    name: "apiserver_envelope_encryption_kms_operations_latency_seconds",
    help: "KMS operation duration with gRPC error code status total.",
    labels: ["provider_name", "method_name", "grpc_status_code"],
    buckets: exponential(0.0001, 20),
  });
  const invalid = metrics.counter({
    name: "apiserver_envelope_encryption_invalid_key_id_from_status_total",
    help: "Number of times an invalid keyID is returned by the Status RPC call split by error.",
    labels: ["provider_name", "error"],
  });
  const cached = metrics.gauge({
    name: "apiserver_envelope_encryption_dek_source_cache_size",
    help: "Number of records in data encryption key (DEK) source cache. On a restart, this value is an approximation of the number of decrypt RPC calls the server will make to the KMS plugin.",
    labels: ["provider_name"],
  });
  return {
    ...keyMetrics(metrics, clock, server),
    cacheMiss: () => misses.add(1),
    keyGenerated: (seconds, failed) => (failed ? notGenerated.add(1) : generated.observe(seconds)),
    called: (provider, method, code, seconds) =>
      operations(provider, method, code).observe(seconds),
    invalidStatusKey: (provider, fault) => invalid(provider, fault).add(1),
    cacheSize: (provider, size) => cached(provider).set(size),
  };
}

/** Key ids change, so only the latest are remembered; the registry bounds the rest. */
const KEY_SERIES_MAX = 100;

function keyMetrics(metrics: Metrics, clock: Pick<Clock, "nowMs">, server: string) {
  const ofKey = ["transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"];
  const used = metrics.counter({
    name: "apiserver_envelope_encryption_key_id_hash_total",
    help: "Number of times a keyID is used split by transformation type, provider, and apiserver identity.",
    labels: ofKey,
    seriesMax: KEY_SERIES_MAX,
  });
  const last = metrics.gauge({
    name: "apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds",
    help: "The last time in seconds when a keyID was used.",
    labels: ofKey,
    seriesMax: KEY_SERIES_MAX,
  });
  const status = metrics.gauge({
    name: "apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds",
    help: "The last time in seconds when a keyID was returned by the Status RPC call.",
    labels: ["provider_name", "key_id_hash", "apiserver_id_hash"],
    seriesMax: KEY_SERIES_MAX,
  });
  const hashes = new Map<string, { used: Counter; last: Gauge }>();
  return {
    keyUsed(direction: Direction, provider: string, keyId: string): void {
      const key = `${direction} ${provider} ${keyId}`;
      const labels = (): [string, string, string, string] => [
        direction,
        provider,
        hashOf(keyId),
        server,
      ];
      const series = hashes.get(key) ?? { used: used(...labels()), last: last(...labels()) };
      if (hashes.size < KEY_SERIES_MAX) hashes.set(key, series);
      series.used.add(1);
      series.last.set(clock.nowMs() / 1000);
    },
    statusKey: (provider: string, keyId: string) =>
      status(provider, hashOf(keyId), server).set(clock.nowMs() / 1000),
  };
}

function configMetrics(
  metrics: Metrics,
  clock: Pick<Clock, "nowMs">,
  server: string,
): ConfigMetrics {
  const name = "apiserver_encryption_config_controller";
  const labels = ["status", "apiserver_id_hash"];
  const reloads = metrics.counter({
    name: `${name}_automatic_reloads_total`,
    help: "Total number of reload successes and failures of encryption configuration split by apiserver identity.",
    labels,
  });
  const last = metrics.gauge({
    name: `${name}_automatic_reload_last_timestamp_seconds`,
    help: "Timestamp of the last successful or failed automatic reload of encryption configuration split by apiserver identity.",
    labels,
  });
  let hash = "";
  metrics.gaugesOf(
    {
      name: `${name}_last_config_info`,
      help: "Information about the last applied encryption configuration with hash as label, split by apiserver identity.",
      labels: ["apiserver_id_hash", "hash"],
    },
    () => (hash === "" ? [] : [{ labels: [server, hash], value: 1 }]),
  );
  return {
    reloaded(outcome) {
      reloads(outcome, server).add(1);
      last(outcome, server).set(clock.nowMs() / 1000);
    },
    inForce(configHash) {
      hash = configHash;
    },
  };
}

function exponential(start: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => start * 2 ** i);
}
