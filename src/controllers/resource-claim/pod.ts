/** Gives a pod the claims that its templates ask for, and reserves them where no scheduler did. */

import type { Pod, PodResourceClaim } from "#api/generated/core.v1.ts";
import type { ResourceClaim, ResourceClaimTemplate } from "#api/generated/resource.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { type EventNote, idle, type Outcome } from "#runtime/controller.ts";
import { create, noted, patch, updateStatus, type Write } from "#runtime/writes.ts";
import { controllerOf, isControlledBy } from "../shared/ownership.ts";
import { isFinished } from "../shared/pods.ts";
import { claimStatusOf, claimsOf } from "./pod-claims.ts";

/** Names the entry of the pod's resourceClaims for which a claim was created. */
const FOR_ENTRY = "resource.kubernetes.io/pod-claim-name";
const NAME_BASE_MAX = 57; // leaves room for what the server adds
const RESERVED_MAX = 256;

export interface PodState {
  readonly pod: Pod;
  /** Those that the pod controls. */
  readonly owned: readonly ResourceClaim[];
  /** The claims that the pod names, by name, with any owner. */
  readonly claims: ReadonlyMap<string, ResourceClaim>;
  readonly templates: ReadonlyMap<string, ResourceClaimTemplate>;
}

export function decidePod(state: PodState): Outcome {
  const { pod } = state;
  if (pod.metadata.deletionTimestamp !== undefined || isDone(pod)) return idle;
  const creates: Write[] = [];
  const found: { readonly name: string; readonly resourceClaimName: string }[] = [];
  for (const entry of pod.spec.resourceClaims ?? []) {
    if (entry.resourceClaimTemplateName === undefined || isServed(entry, state)) continue;
    const claim = state.owned.find(
      ({ metadata }) => metadata.annotations?.[FOR_ENTRY] === entry.name,
    );
    if (claim !== undefined) {
      found.push({ name: entry.name, resourceClaimName: claim.metadata.name ?? "" });
      continue;
    }
    const templateName = entry.resourceClaimTemplateName;
    const template = state.templates.get(templateName);
    if (template === undefined) {
      const missing = `resourceclaimtemplate.resource.k8s.io "${templateName}" not found`;
      const why = `resource claim template "${templateName}": ${missing}`;
      return { writes: creates, events: [failed(pod, entry, why)] };
    }
    const made = create(resourceClaimKind, claimFor(pod, entry, template));
    const onRefused = failed(pod, entry, "create ResourceClaim : {error}");
    creates.push(noted(made, { onRefused }));
  }
  const statusWrites =
    found.length === 0
      ? []
      : [patch(podKind, pod, "strategic", { status: { resourceClaimStatuses: found } }, "status")];
  return { writes: [...creates, ...statusWrites, ...reserve(state)] };
}

/** It needs nothing any more, or never will. */
export function isDone(pod: Pod): boolean {
  return isFinished(pod) || (pod.metadata.deletionTimestamp !== undefined && !pod.spec.nodeName);
}

/** Its claim is known and there, or it was decided that it needs none. */
function isServed(entry: PodResourceClaim, { pod, claims }: PodState): boolean {
  const known = claimStatusOf(pod, entry);
  if (known === undefined) return false;
  if (known.resourceClaimName === undefined) return true;
  const claim = claims.get(known.resourceClaimName);
  return claim !== undefined && isControlledBy(claim, pod);
}

/** A pod whose nodeName was set without the scheduler gets its claims reserved here. */
function reserve({ pod, claims }: PodState): readonly Write[] {
  if (!pod.spec.nodeName) return [];
  return claimsOf(pod, claims).flatMap((claim) => {
    if (claim.status.allocation === undefined) return [];
    const { reservedFor = [] } = claim.status;
    const { name = "", uid = "" } = pod.metadata;
    const isReserved = reservedFor.some((consumer) => consumer.uid === uid);
    if (isReserved || reservedFor.length >= RESERVED_MAX) return [];
    const consumers = [...reservedFor, { resource: "pods", name, uid }];
    const status = { ...claim.status, reservedFor: consumers };
    return [updateStatus(resourceClaimKind, { ...claim, status })];
  });
}

function claimFor(
  pod: Pod,
  entry: PodResourceClaim,
  { spec: { metadata = {}, spec } }: ResourceClaimTemplate,
): ResourceClaim {
  const { name: podName = "", namespace, uid = "" } = pod.metadata;
  const { labels, annotations } = metadata;
  return {
    apiVersion: resourceClaimKind.apiVersion,
    kind: resourceClaimKind.names.kind,
    metadata: {
      generateName: baseName(podName, entry.name),
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      annotations: { ...annotations, [FOR_ENTRY]: entry.name },
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: podName, uid, controller: true }],
    },
    spec,
    status: {},
  };
}

/** Both names are shortened alike where they are too long together. */
function baseName(podName: string, entryName: string): string {
  const whole = `${podName}-${entryName}-`;
  if (whole.length <= NAME_BASE_MAX) return whole;
  const short = (name: string): string =>
    name.slice(0, Math.trunc((name.length * NAME_BASE_MAX) / whole.length));
  return `${short(podName)}-${short(entryName)}`;
}

function failed(about: Pod, { name }: PodResourceClaim, why: string): EventNote {
  const message = `PodResourceClaim ${name}: ${why}`;
  return { about, type: "Warning", reason: "FailedResourceClaimCreation", message };
}

/** The pod for which the claim was made. */
export function ownerOf(claim: ResourceClaim): { name: string; uid: string } | undefined {
  const owner = controllerOf(claim);
  return owner?.kind === "Pod" && owner.apiVersion === "v1" ? owner : undefined;
}
