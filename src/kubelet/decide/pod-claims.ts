/** The ResourceClaims of a pod, and which devices of them a container gets. */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import type { ResourceClaim } from "#api/generated/resource.v1.ts";

export interface PodClaim {
  /** In the pod. */
  readonly name: string;
  /** The object's; undefined: it was not created and is not needed. */
  readonly claimName: string | undefined;
}

/** Throws while the claim of a template was not created. */
export function podClaims({ spec, status }: Pod): PodClaim[] {
  return (spec.resourceClaims ?? []).map(({ name, resourceClaimName }) => {
    if (resourceClaimName !== undefined) return { name, claimName: resourceClaimName };
    const made = status?.resourceClaimStatuses?.find((one) => one.name === name);
    if (made === undefined) {
      throw new Error(`pod claim ${name}: ResourceClaim not created yet`);
    }
    return { name, claimName: made.resourceClaimName };
  });
}

/** Why the pod may not use the claim; undefined if it may. */
export function whyNotClaim({ metadata: pod }: Pod, claim: ResourceClaim): string | undefined {
  const { name = "", uid = "" } = claim.metadata;
  const isReserved = claim.status?.reservedFor?.some((one) => one.uid === pod.uid) ?? false;
  if (!isReserved) {
    return `pod ${pod.name} (${pod.uid}) is not allowed to use ResourceClaim ${name} (${uid})`;
  }
  return claim.status?.allocation === undefined
    ? `ResourceClaim ${name}: not allocated`
    : undefined;
}

/** Drivers whose devices were allocated. */
export function driversOf({ status }: ResourceClaim): readonly string[] {
  const results = status?.allocation?.devices?.results ?? [];
  return [...new Set(results.map(({ driver }) => driver))];
}

interface Prepared {
  readonly requestNames: readonly string[];
  readonly cdiDeviceIds: readonly string[];
}

/** `devices`: prepared for the pod, by the name of the claim in the pod. */
export function containerCdiDevices(
  { resources }: Container,
  devices: ReadonlyMap<string, readonly Prepared[]>,
): readonly string[] {
  const ids = (resources?.claims ?? []).flatMap(({ name, request = "" }) =>
    (devices.get(name) ?? [])
      .filter(({ requestNames }) => isFor(requestNames, request))
      .flatMap(({ cdiDeviceIds }) => cdiDeviceIds),
  );
  return [...new Set(ids)];
}

/** A request with alternatives is named `request/alternative` in the result. */
function isFor(requestNames: readonly string[], request: string): boolean {
  if (request === "" || requestNames.length === 0) return true;
  return requestNames.some((name) => name === request || name.startsWith(`${request}/`));
}
