/** Approves kubelets' requests for client certificates, if who asks may have one. */

import type { SubjectAccessReview } from "#api/generated/authorization.v1.ts";
import type { CertificateSigningRequest } from "#api/generated/certificates.v1.ts";
import { subjectAccessReviewKind } from "#api/kinds/authorization/v1/access-reviews.ts";
import { certificateSigningRequestKind } from "#api/kinds/certificates/v1/certificate-signing-request.ts";
import { timeToMs } from "#api/meta/time.ts";
import {
  type Caches,
  defineController,
  idle,
  type Key,
  type Outcome,
  ownKey,
  type Reader,
  recheckIn,
} from "#runtime/controller.ts";
import { updateSubresource } from "#runtime/writes.ts";
import { isIssued, kubeletClientFault, parseRequest, SIGNER, saysCondition } from "./requests.ts";

const RETRY_MIN_MS = 200;
const RETRY_MAX_MS = 1_000_000;

/** The permissions for such a certificate, the narrower first. */
type Permission = "selfnodeclient" | "nodeclient";

const MESSAGES: Readonly<Record<Permission, string>> = {
  selfnodeclient: "Auto approving self kubelet client certificate after SubjectAccessReview.",
  nodeclient: "Auto approving kubelet client certificate after SubjectAccessReview.",
};

interface State {
  readonly request: CertificateSigningRequest;
  /** By which the request may be granted; none if it is of no kind that is known here. */
  readonly tried: readonly Permission[];
  readonly granted: Permission | undefined;
}

export const certificateApproving = defineController<State | undefined>({
  name: "certificatesigningrequest-approving-controller",
  rule: "a node may ask for its own client certificate, as the authorizer confirms",
  component: "csrapproving",
  feeds: [{ kind: certificateSigningRequestKind, keys: ownKey }],
  observe,
  decide: (state, nowMs) => (state === undefined ? idle : decide(state, nowMs)),
});

async function observe(caches: Caches, { name }: Key, reader: Reader): Promise<State | undefined> {
  const request = caches(certificateSigningRequestKind).get(undefined, name);
  if (request === undefined) return undefined;
  const tried = permissionsFor(request);
  for (const permission of tried) {
    if (await isAllowed(request, permission, reader))
      return { request, tried, granted: permission };
  }
  return { request, tried, granted: undefined };
}

export function permissionsFor(request: CertificateSigningRequest): readonly Permission[] {
  if (isIssued(request) || saysCondition(request, "Approved") || saysCondition(request, "Denied")) {
    return [];
  }
  const { signerName, usages = [], username } = request.spec;
  if (signerName !== SIGNER.kubeletClient) return [];
  const { names } = parseRequest(request);
  if (kubeletClientFault(names, usages) !== undefined) return [];
  return username === names.commonName ? ["selfnodeclient", "nodeclient"] : ["nodeclient"];
}

async function isAllowed(
  { spec }: CertificateSigningRequest,
  subresource: Permission,
  reader: Reader,
): Promise<boolean> {
  const { username, uid, groups, extra } = spec;
  const review: SubjectAccessReview = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    metadata: {},
    spec: {
      ...(username === undefined ? {} : { user: username }),
      ...(uid === undefined ? {} : { uid }),
      ...(groups === undefined ? {} : { groups }),
      ...(extra === undefined ? {} : { extra }),
      resourceAttributes: {
        group: "certificates.k8s.io",
        resource: "certificatesigningrequests",
        verb: "create",
        version: "*",
        subresource,
      },
    },
    status: { allowed: false },
  };
  const answer = await reader.ask(subjectAccessReviewKind, review);
  if (!answer.ok) throw new Error(answer.status.message);
  return answer.value.status.allowed;
}

export function decide({ request, tried, granted }: State, nowMs: number): Outcome {
  if (tried.length === 0) return idle;
  if (granted === undefined) {
    // Permissions change without telling: ask again, ever less often.
    const ageMs = nowMs - timeToMs(request.metadata.creationTimestamp ?? "");
    return recheckIn(Math.min(Math.max(ageMs, RETRY_MIN_MS), RETRY_MAX_MS));
  }
  const approved = {
    type: "Approved",
    status: "True",
    reason: "AutoApproved",
    message: MESSAGES[granted],
  } as const;
  const conditions = [...(request.status.conditions ?? []), approved];
  const object = { ...request, status: { ...request.status, conditions } };
  return { writes: [updateSubresource(certificateSigningRequestKind, object, "approval")] };
}
