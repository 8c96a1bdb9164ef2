/** EventRateLimit: limits the rate of Events for the server, and by namespace, user or object. */
import type { Event } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { tooManyRequestsStatus } from "#api/meta/status.ts";
import { type FieldError, invalid, notSupported } from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import type { Clock } from "#lib/time/clock.ts";
import { aggregateText } from "../../config/aggregate-text.ts";
import {
  type ConfigKind,
  configSchema,
  decodeConfigPart,
  INT32,
  listOf,
  STRING,
  struct,
} from "../../config/config-file.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import type { AdmissionPlugin } from "../plugin.ts";

const TYPES = ["Server", "Namespace", "User", "SourceAndObject"] as const;

interface Limit {
  readonly type: (typeof TYPES)[number];
  readonly qps: number;
  readonly burst: number;
  /** Number of namespaces, users or objects with a bucket of their own. */
  readonly cacheSize?: number;
}

const CACHE_SIZE = 4096;

const CONFIGURATION: ConfigKind = {
  kind: "Configuration",
  apiVersions: ["eventratelimit.admission.k8s.io/v1alpha1"],
  schema: configSchema("v1alpha1.Configuration", {
    limits: listOf(
      struct("v1alpha1.Limit", { type: STRING, qps: INT32, burst: INT32, cacheSize: INT32 }),
    ),
  }),
};

/** Throws when the configuration is none. */
export function eventRateLimit(
  configuration: unknown,
  clock: Pick<Clock, "nowMs">,
): AdmissionPlugin {
  const { limits = [] } =
    configuration === undefined
      ? {}
      : (decodeConfigPart(configuration, CONFIGURATION) as { limits?: readonly Limit[] });
  const faults = limitFaults(limits);
  if (faults.length > 0) throw new Error(formatFieldErrors(faults));
  const buckets = limits.map((limit) => new Buckets(limit));
  return {
    name: "EventRateLimit",
    operations: ["CREATE", "UPDATE"],
    validate(request) {
      const { operation, kind, dryRun } = request;
      const writes = operation === "CREATE" || operation === "UPDATE";
      if (!writes || kind.names.kind !== "Event" || dryRun) return;
      const nowMs = clock.nowMs();
      const refusals = buckets.flatMap((one) => {
        const key = keyOf(one.limit, request);
        return one.take(key, nowMs)
          ? []
          : [`limit reached on type ${one.limit.type} for key ${key}`];
      });
      if (refusals.length === 0) return;
      const message = `Too many requests: ${aggregateText(refusals)}`;
      const { details: _, ...status } = tooManyRequestsStatus(message, 0);
      return status;
    },
  };
}

/** A bucket of tokens for each key; those used longest ago are forgotten. */
class Buckets {
  readonly limit: Limit;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  constructor(limit: Limit) {
    this.limit = limit;
  }

  take(key: string, nowMs: number): boolean {
    const { qps, burst, cacheSize } = this.limit;
    const { tokens, atMs } = this.#buckets.get(key) ?? { tokens: burst, atMs: nowMs };
    const filled = Math.min(burst, tokens + ((nowMs - atMs) / 1000) * qps);
    const allowed = filled >= 1;
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: allowed ? filled - 1 : filled, atMs: nowMs });
    if (this.#buckets.size > (cacheSize || CACHE_SIZE)) {
      this.#buckets.delete(this.#buckets.keys().next().value!);
    }
    return allowed;
  }
}

function keyOf({ type }: Limit, request: AdmissionRequest): string {
  const { namespace, user } = request;
  switch (type) {
    case "Server":
      return "";
    case "Namespace":
      return namespace;
    case "User":
      return user.name;
    case "SourceAndObject": {
      const written: KubeObject = request.object!;
      // An Event of the newer group has these under other names.
      const { source, involvedObject } = written as Partial<Event>;
      const { kind, namespace: at, name, uid, apiVersion } = involvedObject ?? {};
      const parts = [source?.component, source?.host, kind, at, name, uid, apiVersion];
      return parts.map((part) => part ?? "").join("");
    }
  }
}

function limitFaults(limits: readonly Limit[]): FieldError[] {
  const root = Path.of("limits");
  if (limits.length === 0) return [invalid(root, limits, "must not be empty")];
  return limits.flatMap(({ type, burst = 0, qps = 0, cacheSize = 0 }, index) => {
    const at = root.index(index);
    const faults: FieldError[] = [];
    if (!TYPES.includes(type)) faults.push(notSupported(at.child("type"), type, TYPES));
    if (!(burst > 0)) faults.push(invalid(at.child("burst"), burst, "must be positive"));
    if (!(qps > 0)) faults.push(invalid(at.child("qps"), qps, "must be positive"));
    if (type !== "Server" && cacheSize < 0) {
      faults.push(invalid(at.child("cacheSize"), cacheSize, "must not be negative"));
    }
    return faults;
  });
}
