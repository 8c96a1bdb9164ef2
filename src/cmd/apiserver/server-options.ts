/** What the API server is made of, by its flags. */

import { statSync } from "node:fs";
import { join } from "node:path";
import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import { serverIdentity } from "#apiserver/cluster/identity-lease.ts";
import type { HealthCheck } from "#apiserver/health/health-paths.ts";
import { START_HOOKS } from "#apiserver/health/start-hooks.ts";
import { addStorageSize } from "#apiserver/metrics/store-metrics.ts";
import type { ConnectStream } from "#apiserver/proxy/connect-stream.ts";
import { createSecurity, type RequestSecurity } from "#apiserver/request/security.ts";
import type { ApiServerOptions } from "#apiserver/server.ts";
import type { ComponentCheck } from "#apiserver/special/component-statuses.ts";
import { probeComponent } from "#apiserver/special/probe-component.ts";
import type { Objects } from "#apiserver/storage/objects.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Store } from "#store/contract.ts";
import { admissionOf } from "./admission.ts";
import type { AuditLog } from "./audit-log.ts";
import { readDescriptions } from "./descriptions-file.ts";
import type { OpenedEncryption } from "./encryption.ts";
import { type ApiServerFlags, flagTexts } from "./flags/flags.ts";
import { followConfigs } from "./follow-config.ts";
import { type Keys, readPem } from "./keys.ts";
import { isShared, type OpenedOverride, type StoreSurroundings } from "./open-store.ts";
import { securityOptionsOf } from "./security-options.ts";
import { isServed } from "./served-kinds.ts";
import type { Tracing } from "./tracing.ts";

/** Default health ports of the other control plane components. */
const CONTROLLER_MANAGER_PORT = 10_257;
const SCHEDULER_PORT = 10_259;

export interface Surroundings extends StoreSurroundings {
  readonly random: Random;
  readonly hostname: string;
  /** Shared with whatever else runs in the process; its own unless given. */
  readonly metrics?: Metrics;
  /** An open store, used instead of the one that the flags name. */
  readonly store?: Store;
  /** Parts of the control plane that run in this process, and are not to be asked over HTTPS. */
  readonly components?: Readonly<Record<string, ComponentCheck>>;
  /** Speaks HTTP in a thread of its own. */
  readonly httpThread?: boolean;
}

/** What the flags lead to and has to be opened, or found out, before the server. */
export interface Parts {
  readonly flags: ApiServerFlags;
  readonly surroundings: Surroundings;
  readonly advertiseAddress: string;
  readonly store: Store;
  readonly keys: Keys;
  readonly audit: AuditLog | undefined;
  readonly metrics: Metrics;
  readonly encryption: OpenedEncryption | undefined;
  /** Makes connections to the cluster; they are made directly without. */
  readonly connect: ConnectStream | undefined;
  readonly tracing: Tracing | undefined;
  /** Stores of single resources. */
  readonly overrides: readonly OpenedOverride[];
  /** Of the tunnels. */
  readonly healthChecks: readonly HealthCheck[];
}

export function apiServerOptions(parts: Parts): ApiServerOptions {
  const { flags, surroundings, advertiseAddress, store, keys, metrics, encryption } = parts;
  const { connect } = parts;
  const { clock, random, logger } = surroundings;
  const tracer = parts.tracing?.tracer;
  const shared = isShared(flags);
  if (surroundings.store === undefined && !shared) {
    const file = join(flags.dataDir, "store", "data.mdb");
    addStorageSize(metrics, "embedded-0", () => statSync(file).size);
  }
  return {
    kinds: builtInKinds,
    isServed: (kind) => isServed(flags, kind),
    store,
    encryption: encryption?.store,
    storeOverrides: parts.overrides.map((override) => {
      const encrypted = encryption?.encrypted(override.store);
      return { ...override, store: encrypted ?? override.store, encryption: encrypted };
    }),
    healthChecks: [...(encryption?.checks ?? []), ...parts.healthChecks],
    storeIsLocal: !shared,
    clock,
    random,
    logger,
    allowPrivileged: flags.allowPrivileged,
    features: flags.features,
    watchTimeoutMinMs: flags.minRequestTimeout * 1000,
    eventTtlSeconds: flags.eventTtlSeconds,
    requestTimeoutMs: flags.requestTimeoutSeconds * 1000,
    storedForm: storedForm(flags, shared),
    serviceRanges: flags.serviceClusterIpRange,
    nodePorts: flags.serviceNodePortRange,
    descriptions: readDescriptions,
    metrics,
    tracer,
    kubelets: {
      addressTypes: flags.kubeletPreferredAddressTypes,
      connectWithinMs: flags.kubeletTimeout * 1000,
      tls: () => kubeletTls(flags, keys),
      connect,
    },
    frontProxyClient: () => keys.frontProxyClient(),
    components: {
      "controller-manager": probeComponent(CONTROLLER_MANAGER_PORT),
      scheduler: probeComponent(SCHEDULER_PORT),
      ...surroundings.components,
    },
    hooks: [...START_HOOKS, ...(encryption?.hooks ?? [])],
    flags: flagTexts(flags),
    profiling: flags.profiling,
    externalAddress: `${flags.externalHostname ?? advertiseAddress}:${flags.securePort}`,
    security: (objects, until) => followedSecurity(parts, objects, until),
    admission: (server, signal) =>
      admissionOf(flags, { ...server, clock, random, logger, metrics, tracer }, signal),
  };
}

/** The server's own name: that of its lease. */
export function identityOf(
  { securePort }: ApiServerFlags,
  hostname: string,
  advertiseAddress: string,
): string {
  return serverIdentity(hostname, `${advertiseAddress}:${securePort}`);
}

/** Security by the flags, and by the files that they name as those change. */
function followedSecurity(
  { flags, surroundings, advertiseAddress, keys, audit, metrics }: Parts,
  objects: Objects,
  signal: AbortSignal,
): RequestSecurity {
  const { clock, random, logger, hostname } = surroundings;
  const options = securityOptionsOf(flags, keys, audit?.options, clock, random, logger);
  const security = createSecurity(options, objects, signal);
  const identity = identityOf(flags, hostname, advertiseAddress);
  followConfigs(flags, security, { clock, random, logger, metrics, identity }, signal);
  return security;
}

/** Without --kubelet-certificate-authority kubelets' self-signed serving certificates are not verified. */
function kubeletTls(flags: ApiServerFlags, keys: Keys) {
  const { certificatePem, keyPem } = keys.kubeletClient();
  const authority = flags.kubeletCertificateAuthority;
  return {
    cert: certificatePem,
    key: keyPem,
    verify: authority !== undefined,
    ...(authority === undefined ? {} : { ca: readPem(authority) }),
  };
}

/** JSON where only we read it; what upstream writes where it may read along. */
function storedForm({ storageMediaType }: ApiServerFlags, shared: boolean): "json" | "protobuf" {
  if (storageMediaType === "application/json") return "json";
  if (storageMediaType === "application/vnd.kubernetes.protobuf") return "protobuf";
  return shared ? "protobuf" : "json";
}
