/**
 * Makes ResourceClaims from the templates that pods name, and frees claims of pods that are done.
 * Pods and claims are keys of one queue.
 */

import type { Pod } from "#api/generated/core.v1.ts";
import type { ResourceClaim, ResourceClaimTemplate } from "#api/generated/resource.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import {
  resourceClaimKind,
  resourceClaimTemplateKind,
} from "#api/kinds/resource/v1/resource-claim.ts";
import {
  type Caches,
  defineController,
  type IndexSpec,
  idle,
  type Key,
  type Reader,
} from "#runtime/controller.ts";
import { foundByName } from "../shared/found-by-name.ts";
import { type ClaimState, decideClaim } from "./claim.ts";
import { decidePod, ownerOf, type PodState } from "./pod.ts";
import { claimNamesOf, podsByResourceClaim } from "./pod-claims.ts";

type State =
  | { readonly of: "pod"; readonly state: PodState }
  | { readonly of: "claim"; readonly state: ClaimState }
  | undefined;

const podsByTemplate: IndexSpec<Pod> = {
  kind: podKind,
  name: "resourceClaimTemplate",
  values: ({ metadata, spec }) =>
    (spec.resourceClaims ?? []).flatMap(({ resourceClaimTemplateName }) =>
      resourceClaimTemplateName === undefined
        ? []
        : [`${metadata.namespace}/${resourceClaimTemplateName}`],
    ),
};

export const resourceClaims = defineController<State>({
  name: "resourceclaim-controller",
  rule: "pods get the claims of their templates; a claim is freed when its pods are done",
  component: "resource_claim",
  workers: 50, // each pod takes two writes, one after the other
  feeds: [
    { kind: podKind, keys: keysOfPod },
    { kind: resourceClaimKind, keys: keysOfClaim },
    { kind: resourceClaimTemplateKind, keys: keysOfTemplate },
  ],
  indexes: [podsByTemplate, podsByResourceClaim],
  observe: (caches, key, reader) =>
    key.resource === "pod" ? observePod(caches, key) : observeClaim(caches, key, reader),
  decide(observed) {
    if (observed === undefined) return idle;
    return observed.of === "pod" ? decidePod(observed.state) : decideClaim(observed.state);
  },
});

function keysOfPod(pod: Pod, caches: Caches): readonly Key[] {
  if ((pod.spec.resourceClaims ?? []).length === 0) return [];
  const { namespace, name = "", uid = "" } = pod.metadata;
  const owned = [...caches(resourceClaimKind).controlledBy(uid)];
  const claimNames = [...claimNamesOf(pod), ...owned.map(({ metadata }) => metadata.name ?? "")];
  return [
    { resource: "pod", namespace, name },
    ...[...new Set(claimNames)].map((claim) => ({ resource: "claim", namespace, name: claim })),
  ];
}

function keysOfClaim(claim: ResourceClaim, caches: Caches): readonly Key[] {
  const { namespace, name = "" } = claim.metadata;
  const users = [...caches(podKind).byIndex(podsByResourceClaim.name, `${namespace}/${name}`)].map(
    ({ metadata }) => metadata.name ?? "",
  );
  const owner = ownerOf(claim)?.name;
  const pods = new Set(owner === undefined ? users : [...users, owner]);
  return [
    { resource: "claim", namespace, name },
    ...[...pods].map((pod) => ({ resource: "pod", namespace, name: pod })),
  ];
}

function keysOfTemplate({ metadata }: ResourceClaimTemplate, caches: Caches): readonly Key[] {
  const id = `${metadata.namespace}/${metadata.name}`;
  return [...caches(podKind).byIndex(podsByTemplate.name, id)].map((pod) => ({
    resource: "pod",
    namespace: pod.metadata.namespace,
    name: pod.metadata.name ?? "",
  }));
}

function observePod(caches: Caches, { namespace, name }: Key): State {
  const pod = caches(podKind).get(namespace, name);
  if (pod === undefined) return undefined;
  const templates = (pod.spec.resourceClaims ?? []).map(
    ({ resourceClaimTemplateName }) => resourceClaimTemplateName ?? "",
  );
  const state: PodState = {
    pod,
    owned: [...caches(resourceClaimKind).controlledBy(pod.metadata.uid ?? "")],
    claims: foundByName(caches, resourceClaimKind, namespace, claimNamesOf(pod)),
    templates: foundByName(caches, resourceClaimTemplateKind, namespace, templates),
  };
  return { of: "pod", state };
}

async function observeClaim(
  caches: Caches,
  { namespace, name }: Key,
  reader: Reader,
): Promise<State> {
  const claim = caches(resourceClaimKind).get(namespace, name);
  if (claim === undefined) return undefined;
  const pods = caches(podKind);
  const consumers = new Map<string, Pod>();
  for (const { apiGroup, resource, name: podName } of claim.status.reservedFor ?? []) {
    if (apiGroup || resource !== "pods") continue;
    const pod = pods.get(namespace, podName) ?? (await ask(reader, namespace, podName));
    if (pod !== undefined) consumers.set(pod.metadata.uid ?? "", pod);
  }
  const owner = ownerOf(claim);
  const state: ClaimState = {
    claim,
    consumers,
    owner: owner === undefined ? undefined : pods.get(namespace, owner.name),
  };
  return { of: "claim", state };
}

/** The scheduler may know of a pod earlier than the cache: a device must not be freed in error. */
async function ask(
  reader: Reader,
  namespace: string | undefined,
  name: string,
): Promise<Pod | undefined> {
  const answer = await reader.get(podKind, { namespace, name });
  if (answer.ok) return answer.value;
  if (answer.status.reason === "NotFound") return undefined;
  throw new Error(`pod ${namespace}/${name}: ${answer.status.message ?? ""}`);
}
