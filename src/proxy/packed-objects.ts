/**
 * Services and EndpointSlices in little memory: only the fields that rules are made of, packed into
 * text, and unpacked whenever they are read. A proxy over the network keeps these; whole objects take
 * ten times as much.
 */
import type { Service } from "#api/generated/core.v1.ts";
import type { Endpoint, EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import { createValuePool } from "#lib/collections/value-pool.ts";
import { PROXY_NAME_LABEL } from "./rules/decide-service-rules.ts";
import { SERVICE_NAME_LABEL } from "./service-table.ts";
import { TRIGGER_TIME_ANNOTATION } from "./trigger-times.ts";

const POOL_SIZE_MAX = 10_000;

export function packService(service: Service): Service {
  return new PackedService(service);
}

/** Endpoints and slices share equal parts (conditions, names of nodes, ports). */
export function createSlicePacker(): (slice: EndpointSlice) => EndpointSlice {
  const shared: SharedParts = {
    traits: createValuePool(POOL_SIZE_MAX),
    ports: createValuePool(POOL_SIZE_MAX),
  };
  return (slice) => new PackedSlice(slice, shared);
}

class PackedService implements Service {
  readonly metadata: ObjectMeta;
  readonly #text: string;

  constructor({ metadata, spec, status }: Service) {
    this.metadata = neededMetadata(metadata, [PROXY_NAME_LABEL]);
    const ports = spec.ports?.map(({ name, port, protocol, nodePort }) => {
      return { name, port, protocol, nodePort };
    });
    const { selector: _, ipFamilies: _families, ipFamilyPolicy: _policy, ...needed } = spec;
    const ingress = status?.loadBalancer?.ingress;
    this.#text = JSON.stringify([{ ...needed, ports }, { loadBalancer: { ingress } }]);
  }

  get spec(): Service["spec"] {
    return (JSON.parse(this.#text) as [Service["spec"]])[0];
  }

  get status(): Service["status"] {
    return (JSON.parse(this.#text) as [unknown, Service["status"]])[1];
  }
}

/** What many endpoints have in common. */
type Traits = Pick<Endpoint, "conditions" | "nodeName" | "hints">;

interface SharedParts {
  readonly traits: (value: Traits) => Traits;
  readonly ports: (value: EndpointSlice["ports"]) => EndpointSlice["ports"];
}

/** Not in addresses, which are those of IP or host names. */
const SEPARATOR = " ";

class PackedSlice implements EndpointSlice {
  readonly metadata: ObjectMeta;
  readonly addressType: EndpointSlice["addressType"];
  readonly ports: EndpointSlice["ports"];
  /** Only the first address of an endpoint is ever used. */
  readonly #addresses: string;
  /** By position; one for all if all are equal. */
  readonly #traits: Traits | readonly Traits[];

  constructor({ metadata, addressType, ports, endpoints }: EndpointSlice, shared: SharedParts) {
    this.metadata = neededMetadata(metadata, [SERVICE_NAME_LABEL, TRIGGER_TIME_ANNOTATION]);
    this.addressType = addressType;
    this.ports = shared.ports(ports);
    const used = (endpoints ?? []).filter(({ addresses }) => (addresses ?? []).length > 0);
    this.#addresses = used.map(({ addresses }) => addresses?.[0]).join(SEPARATOR);
    const traits = used.map(({ conditions, nodeName, hints }) =>
      shared.traits({
        conditions: conditions ?? {},
        ...(nodeName === undefined ? {} : { nodeName }),
        ...(hints === undefined ? {} : { hints }),
      }),
    );
    const [first] = traits;
    this.#traits = first !== undefined && traits.every((each) => each === first) ? first : traits;
  }

  get endpoints(): readonly Endpoint[] {
    if (this.#addresses === "") return [];
    const traits = this.#traits;
    return this.#addresses.split(SEPARATOR).map((address, i) => ({
      addresses: [address],
      ...(isList(traits) ? traits[i]! : traits),
    }));
  }
}

function isList(traits: Traits | readonly Traits[]): traits is readonly Traits[] {
  return Array.isArray(traits);
}

/** Labels and annotations of these names, and what a cache needs. */
function neededMetadata(metadata: ObjectMeta, names: readonly string[]): ObjectMeta {
  const { name, namespace, resourceVersion, deletionTimestamp } = metadata;
  const labels = pick(metadata.labels, names);
  const annotations = pick(metadata.annotations, names);
  return {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

function pick(
  from: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
): Record<string, string> | undefined {
  const found = names.flatMap((name) => (from?.[name] === undefined ? [] : [[name, from[name]]]));
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
