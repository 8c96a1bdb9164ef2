/**
 * An Ingress controller and its data plane.
 *
 *     const ingress = runIngress({ client, clock, random, logger, metrics, addresses: ["0.0.0.0"], … }, signal);
 *     await ingress.ready;
 *
 * Promises:
 * 1. `ready` resolves when it listens and has seen every Ingress, class, Service, EndpointSlice and Secret.
 * 2. Changes reach the data plane together: one new routing table for many changes at once. Endpoints
 *    change at once.
 * 3. When the API server cannot be reached it goes on with what it has seen.
 * 4. What is wrong with an Ingress is written as an Event of it, once.
 */
import type { Client } from "#client/client.ts";
import type { Logger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { ClusterState } from "./cluster-state.ts";
import type { CertificatePair } from "./data-plane/certificates.ts";
import { type AccessEntry, LIMITS, type Limits } from "./data-plane/data-plane.ts";
import { createIngressMetrics } from "./data-plane/ingress-metrics.ts";
import { type RunningDataPlane, startDataPlane } from "./data-plane/start-data-plane.ts";
import type { DataPlaneName } from "./data-plane-name.ts";
import { followCluster, type PublishedAddress } from "./follow-cluster.ts";
import { startNginxPlane } from "./nginx/start-nginx-plane.ts";

export interface IngressOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** IP addresses to listen on. */
  readonly addresses: readonly string[];
  /** 0: any free port. */
  readonly httpPort: number;
  readonly httpsPort: number;
  /** The ports that clients see, if they are not those of the listeners. */
  readonly publicPorts?: { readonly http: number; readonly https: number };
  readonly defaultCertificate: CertificatePair;
  readonly limits?: Partial<Limits>;
  /** How long open requests may go on after the end. */
  readonly drainMs?: number;
  /** What `status.loadBalancer` of Ingresses says. */
  readonly publish: PublishedAddress;
  /** Whether X-Forwarded-* of this client are believed; of none unless given. */
  isTrusted?(client: string): boolean;
  onAccess?(entry: AccessEntry): void;
  /** nginx must be installed; the built-in one needs nothing. */
  readonly dataPlane?: DataPlaneName;
  /** nginx writes lines of JSON to standard output; the built-in data plane calls `onAccess`. */
  readonly accessLog?: boolean;
}

export interface RunningIngress {
  readonly ready: Promise<void>;
  readonly done: Promise<void>;
  isReady(): boolean;
  /** Resolves when it listens, maybe before it is ready. */
  readonly listening: Promise<Pick<RunningDataPlane, "httpPort" | "httpsPort" | "count">>;
}

const DRAIN_MS = 30_000;

export function runIngress(options: IngressOptions, signal: AbortSignal): RunningIngress {
  const metrics = new Metrics();
  const shown = options.metrics.include(metrics);
  const counted = createIngressMetrics(metrics);
  const world = new ClusterState(options, signal);
  const planeOptions = {
    ...{ state: world, metrics: counted, clock: options.clock, addresses: options.addresses },
    ...{ httpPort: options.httpPort, httpsPort: options.httpsPort },
    ...(options.publicPorts === undefined ? {} : { publicPorts: options.publicPorts }),
    ...(options.onAccess === undefined ? {} : { onAccess: options.onAccess }),
    defaultCertificate: options.defaultCertificate,
    limits: { ...LIMITS, ...options.limits },
    drainMs: options.drainMs ?? DRAIN_MS,
    isTrusted: options.isTrusted ?? (() => false),
  };
  const listening =
    options.dataPlane === "nginx"
      ? startNginxPlane({ ...planeOptions, accessLog: options.accessLog === true }, signal)
      : startDataPlane(planeOptions, signal);
  let isReady = false;
  const run = async (): Promise<void> => {
    const plane = await listening;
    const onTable = (): void => counted.tableUpdates.add(1);
    await followCluster({ ...options, world, plane, onTable }, signal);
    await plane.done;
  };
  const done = run().finally(() => shown[Symbol.dispose]());
  const ready = Promise.all([listening, world.synced]).then(([{ httpPort, httpsPort }]) => {
    isReady = true;
    const addresses = options.addresses.join(",");
    options.logger.info("Ingress is ready", { addresses, httpPort, httpsPort });
  });
  ready.catch(() => undefined); // `listening` and `done` reject, too
  return { ready, done, listening, isReady: () => isReady };
}
