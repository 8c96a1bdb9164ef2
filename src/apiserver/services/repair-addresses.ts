/**
 * What is wrong between Services and the IPAddress objects that stand for their cluster addresses,
 * and what is to be done about it. Pure: the same state always gives the same repairs.
 */
import type { Service } from "#api/generated/core.v1.ts";
import type { IPAddress, ServiceCIDR } from "#api/generated/networking.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { addressRange, contains } from "#api/meta/address-range.ts";
import { timeToMs } from "#api/meta/time.ts";
import { formatIp, parseCidr, parseIp } from "#api/validation/ip.ts";
import { ADDRESS_LABELS, MANAGED_BY } from "./address-object.ts";

export interface AddressState {
  readonly services: readonly Service[];
  readonly addresses: readonly IPAddress[];
  readonly ranges: readonly ServiceCIDR[];
  readonly nowMs: number;
}

export interface Complaint {
  readonly about: KubeObject;
  readonly reason: string;
  readonly action: string;
  readonly note: string;
}

export type Repair = { readonly complaint?: Complaint } & (
  | { readonly do: "nothing" }
  | { readonly do: "create" | "recreate"; readonly address: string; readonly owner: Service }
  | { readonly do: "delete"; readonly address: string }
);

/** A Service's addresses are allocated before it is written, so for a while they have no owner. */
const UNOWNED_MS_MAX = 60_000;
const REVERTED_MS_MAX = 5_000;

export function decideAddressRepairs(state: AddressState): readonly Repair[] {
  const byName = new Map(state.addresses.map((one) => [one.metadata.name!, one]));
  const services = new Map(state.services.map((one) => [keyOf(one.metadata), one]));
  return [
    ...state.services.flatMap((service) => serviceRepairs(service, state, byName, services)),
    ...state.addresses.flatMap((address) => addressRepairs(address, services, state.nowMs)),
  ];
}

function serviceRepairs(
  service: Service,
  { ranges }: AddressState,
  byName: ReadonlyMap<string, IPAddress>,
  services: ReadonlyMap<string, Service>,
): Repair[] {
  const { spec, metadata } = service;
  if (spec.type === "ExternalName" || !spec.clusterIP || spec.clusterIP === "None") return [];
  const place = `${metadata.namespace}/${metadata.name}`;
  return (spec.clusterIPs ?? []).flatMap((text): Repair[] => {
    const complain = (reason: string, note: string, action = "ClusterIPAllocation") => ({
      complaint: { about: service, reason, action, note },
    });
    const parsed = parseIp(text);
    if (parsed === undefined) {
      const note = `Cluster IP ${text} is not a valid IP; please recreate Service`;
      return [{ do: "nothing", ...complain("ClusterIPNotValid", note, "ClusterIPValidation") }];
    }
    const family = parsed.bytes.length === 4 ? "IPv4" : "IPv6";
    const address = formatIp(parsed);
    if (!ranges.some((range) => rangeContains(range, address))) {
      const note = `Cluster IP [${family}]: ${address} is not within any configured Service CIDR; please recreate service`;
      return [{ do: "nothing", ...complain("ClusterIPOutOfRange", note) }];
    }
    const known = byName.get(address);
    if (known === undefined) {
      const note = `Cluster IP [${family}]: ${address} is not allocated; repairing`;
      const complaint = complain("ClusterIPNotAllocated", note);
      return [{ do: "create", address, owner: service, ...complaint }];
    }
    const reference = known.spec.parentRef ?? {};
    const other = services.get(keyOf(reference));
    const isService = !reference.group && reference.resource === "services";
    if (!isService || other === undefined) {
      const note = `the ClusterIP [${family}]: ${address} for Service ${place} has a wrong reference; repairing`;
      const complaint = complain("ClusterIPNotAllocated", note);
      return [{ do: "recreate", address, owner: service, ...complaint }];
    }
    if (other !== service && other.spec.clusterIPs?.includes(address)) {
      const note = `Cluster IP [${family}]:${address} was assigned to multiple services; please recreate service`;
      return [{ do: "nothing", ...complain("ClusterIPAlreadyAllocated", note) }];
    }
    return hasOwnLabels(known, family) ? [] : [{ do: "recreate", address, owner: service }];
  });
}

function addressRepairs(
  address: IPAddress,
  services: ReadonlyMap<string, Service>,
  nowMs: number,
): Repair[] {
  const { metadata, spec } = address;
  if (metadata.labels?.[ADDRESS_LABELS.managedBy] !== MANAGED_BY) return [];
  const name = metadata.name!;
  const clean = (reason: string, note: string): Repair[] => [
    {
      do: "delete",
      address: name,
      complaint: { about: address, reason, action: "IPAddressAllocation", note },
    },
  ];
  const reference = spec.parentRef ?? {};
  if (reference.group || reference.resource !== "services") {
    const note = `IPAddress ${name} appears to have been modified, not referencing a Service: cleaning up`;
    return clean("IPAddressNotAllocated", note);
  }
  const ageMs = nowMs - timeToMs(metadata.creationTimestamp ?? "");
  const place = keyOf(reference);
  const service = services.get(place);
  if (service === undefined) {
    if (ageMs <= UNOWNED_MS_MAX) return [];
    const note = `IPAddress: ${name} for Service ${place} appears to have leaked: cleaning up`;
    return clean("IPAddressNotAllocated", note);
  }
  if (service.spec.clusterIPs?.includes(name)) return [];
  const patience = service.spec.type === "ExternalName" ? UNOWNED_MS_MAX : REVERTED_MS_MAX;
  if (ageMs < patience) return [];
  const note = `IPAddress: ${name} for Service ${place} has a wrong reference; cleaning up`;
  return clean("IPAddressWrongReference", note);
}

function rangeContains({ spec }: ServiceCIDR, address: string): boolean {
  return (spec?.cidrs ?? []).some((text) => {
    const cidr = parseCidr(text);
    return cidr !== undefined && contains(addressRange(cidr, text), address);
  });
}

function hasOwnLabels({ metadata }: IPAddress, family: string): boolean {
  const labels = metadata.labels ?? {};
  return (
    labels[ADDRESS_LABELS.family] === family && labels[ADDRESS_LABELS.managedBy] === MANAGED_BY
  );
}

function keyOf({ namespace, name }: { namespace?: string; name?: string }): string {
  return `${namespace}/${name}`;
}
