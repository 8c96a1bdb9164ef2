/**
 * The claim that the scheduler makes for a pod whose extended resources are backed by devices. What
 * it asks for depends on the node: a resource that a device plugin of the node offers is not its
 * concern. It is created when the pod is bound, and deleted when that fails.
 */
import type { ContainerExtendedResourceRequest, Pod } from "#api/generated/core.v1.ts";
import type { ResourceClaim } from "#api/generated/resource.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { type Handle, type Rejected, unresolvable } from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { type DeviceClassResources, mayBeDevices } from "./device-class-resources.ts";
import { extendedRequests } from "./extended-resource-requests.ts";
import type { WantedDevices, WantedDevicesReader } from "./wanted-devices.ts";

const ANNOTATION = "resource.kubernetes.io/extended-resource-claim";
const STALE = unresolvable("cannot schedule extended resource claim");
const CANNOT_FIT = unresolvable("cannot fit resource");

/** What one node has to allocate. */
export interface ExtendedVariant {
  readonly wanted: WantedDevices;
  readonly mappings: readonly ContainerExtendedResourceRequest[];
}

export class ExtendedResourceClaim {
  /** Of an earlier attempt; it is deleted before the pod is tried again. */
  readonly stale: ResourceClaim | undefined;
  /** Set when it was created in this attempt. */
  created: ResourceClaim | undefined;
  readonly #pod: Pod;
  readonly #amounts: readonly (readonly [resource: string, amount: number])[];
  readonly #classes: DeviceClassResources;
  readonly #reader: WantedDevicesReader;
  readonly #draft: ResourceClaim;
  readonly #variants = new Map<string, ExtendedVariant | Rejected>();

  constructor(
    { pod, requests }: PodInfo,
    stale: ResourceClaim | undefined,
    classes: DeviceClassResources,
    reader: WantedDevicesReader,
    uid: string,
  ) {
    this.stale = stale;
    this.#pod = pod;
    this.#amounts = [...(requests.scalars ?? [])].filter(
      ([name, amount]) => amount !== 0 && mayBeDevices(name),
    );
    this.#classes = classes;
    this.#reader = reader;
    this.#draft = draftFor(pod, uid);
  }

  /** What must be allocated on the node; undefined if its device plugins offer everything. */
  on({ allocatable }: NodeInfo): ExtendedVariant | Rejected | undefined {
    if (this.stale !== undefined) return STALE;
    const classes = new Map<string, string>();
    for (const [resource] of this.#amounts) {
      const offered = allocatable.scalars?.get(resource);
      const found = this.#classes.classOf(resource);
      if (found !== undefined && (offered ?? 0) === 0) {
        classes.set(resource, found.metadata.name ?? "");
      } else if (offered === undefined) return CANNOT_FIT;
    }
    if (classes.size === 0) return undefined;
    const key = [...classes.keys()].join();
    let variant = this.#variants.get(key);
    if (variant === undefined) {
      variant = this.#variant(classes);
      this.#variants.set(key, variant);
    }
    return variant;
  }

  #variant(classes: ReadonlyMap<string, string>): ExtendedVariant | Rejected {
    const { requests, mappings } = extendedRequests(this.#pod, classes);
    const wanted = this.#reader.read({ ...this.#draft, spec: { devices: { requests } } });
    return typeof wanted === "string" ? unresolvable(wanted) : { wanted, mappings };
  }

  /** Creates the claim. Its name is the server's choice. */
  async create(
    { wanted }: ExtendedVariant,
    { client, deviceMetrics }: Handle,
    signal: AbortSignal,
  ) {
    const { uid: _, ...metadata } = wanted.claim.metadata;
    const claim = { ...wanted.claim, metadata };
    const created = await client.create(resourceClaimKind, claim, {}, signal);
    deviceMetrics.claimCreated(created.ok);
    if (!created.ok) {
      const { namespace } = metadata;
      const text = `create claim for extended resources ${namespace}/`;
      throw new Error(`${text}: ${created.status.message}`);
    }
    this.created = created.value;
    return created.value;
  }

  /** Writes the pod status that names the allocated devices for the kubelet. */
  async writeStatus(
    { mappings }: ExtendedVariant,
    claim: ResourceClaim,
    { client }: Handle,
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace, name = "", uid } = this.#pod.metadata;
    const resourceClaimName = claim.metadata.name;
    const status = {
      extendedResourceClaimStatus: { requestMappings: mappings, resourceClaimName },
    };
    const patched = await client.patch(
      podKind,
      { namespace, name },
      "strategic",
      { metadata: { uid }, status },
      { subresource: "status" },
      signal,
    );
    if (patched.ok) return;
    const text = `update pod ${namespace}/${name} ExtendedResourceClaimStatus`;
    throw new Error(`${text}: ${patched.status.message}`);
  }
}

/** Undefined for a pod without extended resources that are backed by devices. */
export function extendedResourceClaimOf(
  info: PodInfo,
  classes: DeviceClassResources,
  reader: WantedDevicesReader,
  { objects, random }: Pick<Handle, "objects" | "random">,
): ExtendedResourceClaim | undefined {
  const isBacked = [...(info.requests.scalars ?? [])].some(
    ([name, amount]) => amount !== 0 && mayBeDevices(name) && classes.classOf(name) !== undefined,
  );
  if (!isBacked) return undefined;
  const stale = [...objects.resourceClaims.controlledBy(info.uid)].find(
    ({ metadata }) => metadata.annotations?.[ANNOTATION] === "true",
  );
  return new ExtendedResourceClaim(info, stale, classes, reader, random.uuid());
}

function draftFor({ metadata }: Pod, uid: string): ResourceClaim {
  const { namespace = "", name = "", uid: podUid = "" } = metadata;
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      namespace,
      uid,
      generateName: `${name}-extended-resources-`,
      annotations: { [ANNOTATION]: "true" },
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid: podUid, controller: true }],
    },
    spec: { devices: { requests: [] } },
    status: {},
  };
}
