/**
 * The Service `kube-system/k8ts-ingress` of type LoadBalancer, and the EndpointSlice that leads from it to
 * where the controller of `k8ts up` listens. Its address is what Ingresses publish.
 */
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { isIpv6 } from "#api/validation/ip.ts";
import type { Client } from "#client/client.ts";
import { answerOf, ensureObject } from "../component/ensure-object.ts";

const KEY = { namespace: "kube-system", name: "k8ts-ingress" };
export const INGRESS_SERVICE = `${KEY.namespace}/${KEY.name}`;

export interface IngressPlace {
  readonly address: string;
  /** Undefined where the controller does not run on a node. */
  readonly nodeName: string | undefined;
  readonly httpPort: number;
  readonly httpsPort: number;
}

export async function ensureIngressService(
  client: Client,
  place: IngressPlace,
  signal: AbortSignal,
): Promise<void> {
  const wanted = sliceOf(place);
  const slice = await ensureObject(client, endpointSliceKind, wanted, signal);
  if (slice.addressType === wanted.addressType) {
    const { endpoints, ports } = wanted;
    const body = { endpoints, ports };
    answerOf(await client.patch(endpointSliceKind, KEY, "merge", body, {}, signal), KEY.name);
  } else {
    // The type of the addresses cannot be changed.
    answerOf(await client.delete(endpointSliceKind, KEY, {}, signal), KEY.name);
    await ensureObject(client, endpointSliceKind, wanted, signal);
  }
  const spec = serviceSpec(place);
  const service = await ensureObject(client, serviceKind, { ...SERVICE, spec }, signal);
  const { externalTrafficPolicy } = spec;
  if (service.spec.externalTrafficPolicy === externalTrafficPolicy) return;
  const change = { spec: { externalTrafficPolicy } };
  answerOf(await client.patch(serviceKind, KEY, "merge", change, {}, signal), KEY.name);
}

const SERVICE: Omit<Service, "spec"> = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { ...KEY, labels: { "app.kubernetes.io/name": KEY.name } },
  status: { loadBalancer: {} },
};

/** The node that has the endpoint sees the addresses of clients; without a node all nodes forward. */
function serviceSpec({ nodeName }: IngressPlace): Service["spec"] {
  return {
    type: "LoadBalancer",
    externalTrafficPolicy: nodeName === undefined ? "Cluster" : "Local",
    ports: [
      { name: "http", port: 80, protocol: "TCP" },
      { name: "https", port: 443, protocol: "TCP" },
    ],
  };
}

function sliceOf({ address, nodeName, httpPort, httpsPort }: IngressPlace): EndpointSlice {
  const onNode = nodeName === undefined ? {} : { nodeName };
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      ...KEY,
      labels: {
        "kubernetes.io/service-name": KEY.name,
        "endpointslice.kubernetes.io/managed-by": "k8ts-ingress",
      },
    },
    addressType: isIpv6(address) ? "IPv6" : "IPv4",
    endpoints: [{ addresses: [address], ...onNode, conditions: { ready: true } }],
    ports: [
      { name: "http", port: httpPort, protocol: "TCP" },
      { name: "https", port: httpsPort, protocol: "TCP" },
    ],
  };
}
