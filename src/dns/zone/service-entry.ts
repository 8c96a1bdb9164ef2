/** What the zone keeps of a Service and of an EndpointSlice: only what answers are made of. */
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { parseIp } from "#api/validation/ip.ts";

export type Address = readonly number[];

export interface Port {
  /** Lower case; empty for a port without a name. */
  readonly name: string;
  /** Lower case. */
  readonly protocol: string;
  readonly port: number;
}

export interface ServiceEntry {
  readonly namespace: string;
  readonly name: string;
  readonly target: ServiceTarget;
}

export type ServiceTarget =
  | {
      readonly kind: "cluster-ip";
      readonly addresses: readonly Address[];
      readonly ports: readonly Port[];
    }
  | { readonly kind: "headless" }
  | { readonly kind: "external-name"; readonly host: string };

export interface SliceEntry {
  readonly endpoints: readonly EndpointEntry[];
  readonly ports: readonly Port[];
}

export interface EndpointEntry {
  /** The label of the endpoint below its Service. */
  readonly hostname: string;
  readonly address: Address;
}

/** A Service or slice without ports has records all the same: SRV records alone need a port. */
const NO_PORT: readonly Port[] = [{ name: "", protocol: "", port: 0 }];

export const SERVICE_LABEL = "kubernetes.io/service-name";

export function serviceEntryOf({ metadata, spec }: Service): ServiceEntry {
  return { namespace: metadata.namespace ?? "", name: metadata.name ?? "", target: targetOf(spec) };
}

function targetOf(spec: Service["spec"]): ServiceTarget {
  if (spec?.type === "ExternalName") {
    return {
      kind: "external-name",
      host: (spec.externalName ?? "").toLowerCase().replace(/\.$/, ""),
    };
  }
  const ips = spec?.clusterIPs ?? (spec?.clusterIP === undefined ? [] : [spec.clusterIP]);
  const addresses = ips.flatMap(addressesOf);
  if (addresses.length === 0) return { kind: "headless" };
  return { kind: "cluster-ip", addresses, ports: portsOf(spec?.ports) };
}

/** Only ready endpoints. Those of a Service with publishNotReadyAddresses are marked ready in the slice. */
export function sliceEntryOf(slice: EndpointSlice): SliceEntry {
  const endpoints = (slice.endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ hostname, addresses }) =>
      (addresses ?? []).flatMap((text) =>
        addressesOf(text).map((address) => ({
          hostname: hostname?.toLowerCase() || dashed(text),
          address,
        })),
      ),
    );
  return { endpoints, ports: portsOf(slice.ports) };
}

/** The Service that a slice belongs to. */
export function serviceNameOf({ metadata }: EndpointSlice): string | undefined {
  return metadata.labels?.[SERVICE_LABEL];
}

function portsOf(
  ports:
    | readonly { readonly name?: string; readonly protocol?: string; readonly port?: number }[]
    | null
    | undefined,
): readonly Port[] {
  if (ports === undefined || ports === null || ports.length === 0) return NO_PORT;
  return ports.map(({ name = "", protocol = "TCP", port = 0 }) => ({
    name: name.toLowerCase(),
    protocol: protocol.toLowerCase(),
    port,
  }));
}

function addressesOf(text: string): Address[] {
  const ip = parseIp(text);
  return ip === undefined ? [] : [ip.bytes];
}

function dashed(ip: string): string {
  return ip.replace(/[.:]/g, "-").toLowerCase();
}
