/**
 * The objects through which the API server finds the metrics server: the Service
 * `kube-system/metrics-server` and an APIService for each group. A Service with a selector, and an APIService
 * that names another Service, belong to another metrics server and are left alone.
 */
import type { APIService } from "#api/generated/apiregistration.v1.ts";
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { apiServiceKind } from "#api/kinds/apiregistration/v1/api-service.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { isIpv6 } from "#api/validation/ip.ts";
import type { Client } from "#client/client.ts";
import { answerOf, ensureObject } from "../component/ensure-object.ts";
import { METRICS_NAMESPACE } from "./metrics-access.ts";

const NAME = "metrics-server";
const KEY = { namespace: METRICS_NAMESPACE, name: NAME };
const SERVICE_PORT = 443;

/** The name that the serving certificate must have. */
export const METRICS_HOST = `${NAME}.${METRICS_NAMESPACE}.svc`;

export interface MetricsPlace {
  /** Where pods reach it too; undefined: it listens on loopback, for the API server of this machine. */
  readonly address: string | undefined;
  readonly port: number;
  /** PEM of the authority of the serving certificate. */
  readonly caPem: string;
}

export interface ApiVersion {
  readonly group: string;
  readonly version: string;
}

/** Answers the names of APIServices that belong to others. */
export async function registerMetrics(
  client: Client,
  place: MetricsPlace,
  versions: readonly ApiVersion[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (!(await ensureService(client, place, signal))) {
    return versions.map(({ group, version }) => `${version}.${group}`);
  }
  const others: string[] = [];
  for (const version of versions) {
    const wanted = apiService(version, place);
    const found = await ensureObject(client, apiServiceKind, wanted, signal);
    const { name = "" } = wanted.metadata;
    const { service } = found.spec;
    if (service?.name !== NAME || service.namespace !== METRICS_NAMESPACE) {
      others.push(name);
      continue;
    }
    const body = { spec: { service: wanted.spec.service, caBundle: wanted.spec.caBundle } };
    answerOf(await client.patch(apiServiceKind, { name }, "merge", body, {}, signal), name);
  }
  return others;
}

/** Answers false if the Service belongs to a metrics server that runs in pods. */
async function ensureService(
  client: Client,
  { address, port }: MetricsPlace,
  signal: AbortSignal,
): Promise<boolean> {
  const wanted = address === undefined ? localService() : clusterService();
  const found = await ensureObject(client, serviceKind, wanted, signal);
  if (Object.keys(found.spec.selector ?? {}).length > 0) return false;
  if (found.spec.type !== wanted.spec.type) {
    answerOf(await client.delete(serviceKind, KEY, {}, signal), NAME);
    answerOf(await client.create(serviceKind, wanted, {}, signal), NAME);
  }
  if (address === undefined) return true;
  const slice = sliceOf(address, port);
  const there = await ensureObject(client, endpointSliceKind, slice, signal);
  if (there.addressType !== slice.addressType) {
    // The type of the addresses cannot be changed.
    answerOf(await client.delete(endpointSliceKind, KEY, {}, signal), NAME);
    await ensureObject(client, endpointSliceKind, slice, signal);
    return true;
  }
  const { endpoints, ports } = slice;
  const body = { endpoints, ports };
  answerOf(await client.patch(endpointSliceKind, KEY, "merge", body, {}, signal), NAME);
  return true;
}

const METADATA = { ...KEY, labels: { "k8s-app": NAME } };

function localService(): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: METADATA,
    spec: { type: "ExternalName", externalName: "localhost" },
    status: { loadBalancer: {} },
  };
}

function clusterService(): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: METADATA,
    spec: {
      type: "ClusterIP",
      ports: [{ name: "https", port: SERVICE_PORT, protocol: "TCP" }],
    },
    status: { loadBalancer: {} },
  };
}

function sliceOf(address: string, port: number): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      ...KEY,
      labels: {
        "kubernetes.io/service-name": NAME,
        "endpointslice.kubernetes.io/managed-by": "k8ts-metrics-server",
      },
    },
    addressType: isIpv6(address) ? "IPv6" : "IPv4",
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: "https", port, protocol: "TCP" }],
  };
}

function apiService(
  { group, version }: ApiVersion,
  { address, port, caPem }: MetricsPlace,
): APIService {
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `${version}.${group}`, labels: { "k8s-app": NAME } },
    spec: {
      ...{ group, version, groupPriorityMinimum: 100, versionPriority: 100 },
      service: { ...KEY, port: address === undefined ? port : SERVICE_PORT },
      caBundle: Buffer.from(caPem).toString("base64"),
    },
    status: {},
  };
}
