/** What the zone keeps of a Service and of an EndpointSlice: only what answers are made of. */
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { parseIp } from "#api/validation/ip.ts";
import type { FewValues } from "./few-values.ts";
import { type Address, packAddresses } from "./packed-addresses.ts";
import { packEndpoints } from "./packed-endpoints.ts";

export interface Port {
  /** Lower case; empty for a port without a name. */
  readonly name: string;
  /** Lower case. */
  readonly protocol: string;
  readonly port: number;
}

/** What the zone has below one name `service.namespace`. */
export interface ServiceEntry {
  /** `namespace/name`. */
  readonly key: string;
  /** Undefined while there are slices without the Service. */
  target: ServiceTarget | undefined;
  slices: FewValues<SliceEntry>;
}

export type ServiceTarget =
  | {
      readonly kind: "cluster-ip";
      /** See packed-addresses.ts. */
      readonly addresses: string;
      readonly ports: readonly Port[];
    }
  | { readonly kind: "headless" }
  | { readonly kind: "external-name"; readonly host: string };

export interface SliceEntry {
  readonly service: ServiceEntry;
  /** See packed-endpoints.ts. */
  readonly endpoints: string;
  readonly ports: readonly Port[];
}

/** Equal lists of ports share one value. */
export type PortPool = (ports: readonly Port[]) => readonly Port[];

/** A Service or slice without ports has records all the same: SRV records alone need a port. */
const NO_PORT: readonly Port[] = [{ name: "", protocol: "", port: 0 }];

const HEADLESS: ServiceTarget = { kind: "headless" };

const SERVICE_LABEL = "kubernetes.io/service-name";

export function targetOf({ spec }: Service, pool: PortPool): ServiceTarget {
  if (spec?.type === "ExternalName") {
    return {
      kind: "external-name",
      host: (spec.externalName ?? "").toLowerCase().replace(/\.$/, ""),
    };
  }
  const ips = spec?.clusterIPs ?? (spec?.clusterIP === undefined ? [] : [spec.clusterIP]);
  const addresses = packAddresses(ips.flatMap(addressesOf));
  if (addresses === "") return HEADLESS;
  return { kind: "cluster-ip", addresses, ports: pool(portsOf(spec?.ports)) };
}

/** Only ready endpoints. Those of a Service with publishNotReadyAddresses are marked ready in the slice. */
export function sliceEntryOf(
  slice: EndpointSlice,
  service: ServiceEntry,
  pool: PortPool,
): SliceEntry {
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
  return { service, endpoints: packEndpoints(endpoints), ports: pool(portsOf(slice.ports)) };
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
