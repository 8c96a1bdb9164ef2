/** All paths that are not about resources, in the order in which they are asked. */
import type { Descriptions } from "#api/openapi/definition.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Discovery } from "../discovery/discovery.ts";
import { discoveryPaths } from "../discovery/discovery-paths.ts";
import { OpenApi, type RemoteDefinitions } from "../discovery/openapi.ts";
import { openApiPaths, type RemoteSchemas } from "../discovery/openapi-paths.ts";
import type { Health } from "../health/health.ts";
import { healthCounts } from "../health/health-counts.ts";
import { healthPaths } from "../health/health-paths.ts";
import type { KindRegistry } from "../registry/kind-registry.ts";
import type { PathHandler } from "../request/handler.ts";
import type { RequestSecurity } from "../request/security.ts";
import { flowPaths } from "./flow-paths.ts";
import { indexPath } from "./index-path.ts";
import { issuerPaths, KEYS_PATH } from "./issuer-paths.ts";
import { metricsPath } from "./metrics-path.ts";
import { profilePaths } from "./profile-paths.ts";
import { API_VERSION, versionPath } from "./version-path.ts";
import { zPages } from "./z-pages.ts";

export interface ServerPathsOptions {
  readonly resources: KindRegistry;
  readonly discovery: Discovery;
  readonly health: Health;
  readonly security: RequestSecurity;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly startMs: number;
  /** Whether profiles of the process can be taken. */
  readonly profiling: boolean;
  readonly flags: Readonly<Record<string, string>>;
  /** `HOST:PORT` published to clients outside the cluster. */
  readonly externalAddress: string;
  descriptions(): Descriptions;
  /** The OpenAPI documents of aggregated servers. */
  readonly remoteSchemas?: RemoteSchemas & RemoteDefinitions;
}

const Z_PATHS = ["/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"];

export function serverPaths(options: ServerPathsOptions): readonly PathHandler[] {
  const { discovery, security, metrics, clock, startMs, flags, externalAddress } = options;
  const nowMs = (): number => clock.nowMs();
  const openApi = new OpenApi(
    options.resources,
    API_VERSION,
    options.descriptions,
    clock,
    options.remoteSchemas,
  );
  const { checks } = options.health;
  const counts = healthCounts(checks);
  return [
    healthPaths({
      checks,
      count: counts.count,
      clock,
      logger: options.logger,
    }),
    versionPath,
    metricsPath({ metrics, checks: counts, startSeconds: startMs / 1000 }),
    zPages({ component: "apiserver", paths: Z_PATHS, startMs, nowMs, flags }),
    ...(options.profiling ? [profilePaths(clock)] : []),
    indexPath(discovery, checks),
    discoveryPaths(discovery, externalAddress),
    openApiPaths(openApi, nowMs, options.remoteSchemas),
    flowPaths(security.flow),
    issuerPaths(security, `https://${externalAddress}${KEYS_PATH}`),
  ];
}
