/** NodeRestriction: kubelets may write only their own Node and Lease, and the pods bound to them. */
import { isDeepStrictEqual } from "node:util";
import type { PersistentVolumeClaim, Pod } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import { certificateSigningRequestKind } from "#api/kinds/certificates/v1/certificate-signing-request.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { failure, notFoundStatus } from "#api/meta/status.ts";
import { andThen } from "#lib/async/maybe-promise.ts";
import type { Authorizer } from "../../../authz/authorizer.ts";
import { nodeNameOf } from "../../../authz/node.ts";
import type { Objects } from "../../../storage/objects.ts";
import type { AdmissionRequest } from "../../admission-request.ts";
import type { AdmissionPlugin } from "../../plugin.ts";
import { refuse } from "../../refuse.ts";
import { bodyOf, oldObject, writtenObject } from "../../requests.ts";
import { certificateRequestSubject } from "../certificates.ts";
import { forbiddenLabels } from "./node-labels.ts";
import { mirrorPodFault } from "./node-mirror-pods.ts";
import { podCertificateFault } from "./pod-certificate-requests.ts";
import { audienceFault } from "./token-audiences.ts";

const LEASE_NAMESPACE = "kube-node-lease";
const NODE_SIGNERS = [
  "kubernetes.io/kubelet-serving",
  "kubernetes.io/kube-apiserver-client-kubelet",
];

interface Write {
  readonly node: string;
  readonly request: AdmissionRequest;
  readonly objects: Objects;
  readonly authorizer: Authorizer;
  readonly features: readonly string[];
}

/** A text refuses, as does a Status of another kind. */
type Judgement = string | Status | undefined;

/** `features`: names of those that are off by default and on here. */
export function nodeRestriction(
  authorizer: Authorizer,
  features: readonly string[] = [],
): AdmissionPlugin {
  return {
    name: "NodeRestriction",
    operations: ["CREATE", "UPDATE", "DELETE"],
    admit(request, { objects }) {
      const node = nodeNameOf(request.user);
      if (node === undefined || request.operation === "CONNECT") return;
      const { kind, user } = request;
      if (node === "") {
        const why = `could not determine node from user ${goQuote(user.name)}`;
        return failure(refuse(request, why));
      }
      const judge = JUDGES[`${kind.group}/${kind.names.plural}`];
      return andThen(judge?.({ node, request, objects, authorizer, features }), (fault) => {
        if (fault === undefined) return undefined;
        return failure(typeof fault === "string" ? refuse(request, fault) : fault);
      });
    },
  };
}

const JUDGES: Readonly<Record<string, (write: Write) => Judgement | Promise<Judgement>>> = {
  "/pods": judgePod,
  "/nodes": judgeNode,
  "/persistentvolumeclaims": judgeClaim,
  "/serviceaccounts": judgeToken,
  "coordination.k8s.io/leases": judgeLease,
  "storage.k8s.io/csinodes": judgeCsiNode,
  "resource.k8s.io/resourceslices": judgeResourceSlice,
  "certificates.k8s.io/certificatesigningrequests": judgeCertificateRequest,
  "certificates.k8s.io/podcertificaterequests": podCertificateFault,
};

function judgePod(write: Write): Judgement {
  const { node, request, objects } = write;
  const { operation, subresource, namespace, name } = request;
  const bound = (): Pod | undefined => objects.get(podKind, namespace, name);
  const missing = (): Status => notFoundStatus({ group: "", resource: "pod" }, name);
  switch (subresource) {
    case "":
      if (operation === "CREATE")
        return mirrorPodFault(writtenObject(request, podKind), node, objects);
      if (operation === "DELETE") {
        const pod = bound();
        if (pod === undefined) return missing();
        if (pod.spec.nodeName === node) return undefined;
        return `node ${goQuote(node)} can only delete pods with spec.nodeName set to itself`;
      }
      return `unexpected operation ${goQuote(operation)}, node ${goQuote(node)} can only create and delete mirror pods`;
    case "status":
      return operation === "UPDATE"
        ? podStatusFault(node, writtenObject(request, podKind), oldObject(request, podKind))
        : `unexpected operation ${goQuote(operation)}`;
    case "eviction": {
      if (operation !== "CREATE") return `unexpected operation ${operation}`;
      const pod = bound();
      if (pod === undefined) return missing();
      if (pod.spec.nodeName === node) return undefined;
      return `node ${node} can only evict pods with spec.nodeName set to itself`;
    }
    default:
      return `unexpected pod subresource ${goQuote(subresource)}, only 'status' and 'eviction' are allowed`;
  }
}

function podStatusFault(node: string, next: Pod, old: Pod): string | undefined {
  const who = `node ${goQuote(node)}`;
  if (old.spec.nodeName !== node) {
    return `${who} can only update pod status for pods with spec.nodeName set to itself`;
  }
  if (!same(next.metadata.labels ?? {}, old.metadata.labels ?? {})) {
    return `${who} cannot update labels through pod status`;
  }
  if (!same(next.status.resourceClaimStatuses ?? [], old.status.resourceClaimStatuses ?? [])) {
    return `${who} cannot update resource claim statues`;
  }
  return same(next.status.extendedResourceClaimStatus, old.status.extendedResourceClaimStatus)
    ? undefined
    : `${who} cannot update extended resource claim status`;
}

function judgeNode({ node, request }: Write): Judgement {
  const { operation, name } = request;
  const who = `node ${goQuote(node)}`;
  if (name !== node) return `${who} is not allowed to modify node ${goQuote(name)}`;
  if (operation !== "CREATE" && operation !== "UPDATE") return undefined;
  const next = writtenObject(request, nodeKind);
  if (operation === "CREATE") {
    if (next.spec.configSource !== undefined) {
      return `${who} is not allowed to create pods with a non-nil configSource`;
    }
    const labels = forbiddenLabels(next.metadata.labels, {});
    if (labels.length === 0) return undefined;
    return `${who} is not allowed to set the following labels: ${labels.join(", ")}`;
  }
  const old = oldObject(request, nodeKind);
  const { configSource } = next.spec;
  if (configSource !== undefined && !same(configSource, old.spec.configSource)) {
    return `${who} is not allowed to update configSource to a new non-nil configSource`;
  }
  if (!same(next.spec.taints ?? [], old.spec.taints ?? [])) {
    return `${who} is not allowed to modify taints`;
  }
  if (!same(next.metadata.ownerReferences ?? [], old.metadata.ownerReferences ?? [])) {
    return `${who} is not allowed to modify ownerReferences`;
  }
  const labels = forbiddenLabels(next.metadata.labels, old.metadata.labels);
  return labels.length === 0 ? undefined : `is not allowed to modify labels: ${labels.join(", ")}`;
}

function judgeClaim({ node, request }: Write): Judgement {
  if (request.subresource !== "status") return "may only update PVC status";
  if (request.operation !== "UPDATE") return `unexpected operation ${goQuote(request.operation)}`;
  const rest = (claim: PersistentVolumeClaim): unknown => {
    const { resourceVersion: _version, managedFields: _managed, ...metadata } = claim.metadata;
    const status: Record<string, unknown> = { ...claim.status };
    for (const field of OWN_CLAIM_STATUS) delete status[field];
    return { ...claim, metadata, status };
  };
  const next = writtenObject(request, persistentVolumeClaimKind);
  const old = oldObject(request, persistentVolumeClaimKind);
  return same(rest(next), rest(old))
    ? undefined
    : `node ${goQuote(node)} is not allowed to update fields other than status.quantity and status.conditions`;
}

const OWN_CLAIM_STATUS = [
  "capacity",
  "conditions",
  "allocatedResourceStatuses",
  "allocatedResources",
];

async function judgeToken({ node, request, objects, authorizer }: Write): Promise<Judgement> {
  const { namespace } = request;
  const asked = bodyOf(request, "serviceaccounts/token");
  if (asked === undefined) return undefined;
  const { kind, apiVersion, name, uid } = asked.spec.boundObjectRef ?? {};
  if (kind !== "Pod" || apiVersion !== "v1" || !name) {
    return "node requested token not bound to a pod";
  }
  if (!uid) return "node requested token with a pod binding without a uid";
  const pod = objects.get(podKind, namespace, name);
  if (pod === undefined) return notFoundStatus({ group: "", resource: "pod" }, name);
  if (pod.metadata.uid !== uid) {
    return `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  }
  if (pod.spec.nodeName !== node) {
    return "node requested token bound to a pod scheduled on a different node";
  }
  return audienceFault({ asked, pod, request, objects, authorizer });
}

function judgeLease({ node, request }: Write): Judgement {
  if (request.namespace !== LEASE_NAMESPACE) {
    return `can only access leases in the "${LEASE_NAMESPACE}" system namespace`;
  }
  return nameOf(request) === node
    ? undefined
    : "can only access node lease with the same name as the requesting node";
}

function judgeCsiNode({ node, request }: Write): Judgement {
  return nameOf(request) === node
    ? undefined
    : "can only access CSINode with the same name as the requesting node";
}

function nameOf({ operation, name, object }: AdmissionRequest): string {
  return operation === "CREATE" ? (object?.metadata.name ?? "") : name;
}

function judgeResourceSlice({ node, request }: Write): Judgement {
  const { operation } = request;
  if (operation !== "CREATE" && operation !== "DELETE") return undefined;
  const { spec } = (operation === "CREATE" ? writtenObject : oldObject)(request, resourceSliceKind);
  if (spec.nodeName === node) return undefined;
  const verb = operation === "CREATE" ? "create" : "delete";
  return `can only ${verb} ResourceSlice with the same NodeName as the requesting node`;
}

function judgeCertificateRequest({ node, request }: Write): Judgement {
  if (request.operation !== "CREATE") return undefined;
  const { spec } = writtenObject(request, certificateSigningRequestKind);
  if (!NODE_SIGNERS.includes(spec.signerName)) return undefined;
  const subject = certificateRequestSubject(spec.request ?? "");
  if (subject === undefined) {
    return "unable to parse csr: PEM block type must be CERTIFICATE REQUEST";
  }
  return subject.commonName === `system:node:${node}`
    ? undefined
    : `can only create a node CSR with CN=system:node:${node}`;
}

function same(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(plain(a), plain(b));
}

/** Without fields that are there but undefined. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
