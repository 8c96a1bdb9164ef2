/** A kubelet may request certificates only for pods that run on it and mount one of the signer. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import { podCertificateRequestKind } from "#api/kinds/certificates/v1beta1/pod-certificate-request.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { internalErrorStatus } from "#api/meta/status.ts";
import type { Authorizer } from "../../../authz/authorizer.ts";
import type { Objects } from "../../../storage/objects.ts";
import type { AdmissionRequest } from "../../admission-request.ts";
import { writtenObject } from "../../requests.ts";

const MIRROR = "kubernetes.io/config.mirror";

interface Write {
  readonly node: string;
  readonly request: AdmissionRequest;
  readonly objects: Objects;
  readonly authorizer: Authorizer;
  readonly features: readonly string[];
}

/** A Status is for what may be true in a moment: the request may be repeated. */
export async function podCertificateFault(write: Write): Promise<string | Status | undefined> {
  const { node, request, objects, features } = write;
  const { operation, subresource, namespace } = request;
  if (!features.includes("PodCertificateRequest")) {
    return "PodCertificateRequest feature gate is disabled";
  }
  if (operation !== "CREATE") return `unexpected operation ${operation}`;
  if (subresource !== "") return `unexpected subresource ${subresource}`;
  const { spec } = writtenObject(request, podCertificateRequestKind);
  if (spec.nodeName !== node) {
    return `PodCertificateRequest.Spec.NodeName=${goQuote(spec.nodeName)}, which is not the requesting node ${goQuote(node)}`;
  }
  const podText = goQuote(`${namespace}/${spec.podName}`);
  const nodeUid = objects.get(nodeKind, "", node)?.metadata.uid;
  if (nodeUid === undefined) return missing("node", node, `node ${goQuote(node)} not found`);
  if (nodeUid !== spec.nodeUID) {
    return internalErrorStatus(
      `PodCertificateRequest for pod ${podText} names node UID ${goQuote(spec.nodeUID)}, inconsistent with the running node (${goQuote(nodeUid)})`,
    );
  }
  const pod = objects.get(podKind, namespace, spec.podName);
  if (pod === undefined) {
    const name = `${namespace}/${spec.podName}`;
    return missing("pod", name, `pod ${goQuote(spec.podName)} not found`);
  }
  const podUid = pod.metadata.uid ?? "";
  if (podUid !== spec.podUID) {
    return internalErrorStatus(
      `PodCertificateRequest for pod ${podText} contains pod UID (${goQuote(spec.podUID)}) which differs from running pod ${goQuote(podUid)}`,
    );
  }
  if (pod.spec.nodeName !== node) {
    return `pod ${podText} is not running on node ${goQuote(node)} named in the PodCertificateRequest`;
  }
  if (pod.metadata.annotations?.[MIRROR] !== undefined) return `pod ${podText} is a mirror pod`;
  return accountFault(write, pod);
}

async function accountFault(
  { request, objects, authorizer }: Write,
  pod: Pod,
): Promise<string | Status | undefined> {
  const { user, namespace } = request;
  const { spec } = writtenObject(request, podCertificateRequestKind);
  const podText = goQuote(`${namespace}/${spec.podName}`);
  const { serviceAccountName: account, serviceAccountUID, signerName } = spec;
  const used = pod.spec.serviceAccountName ?? "";
  if (account !== used) {
    return `PodCertificateRequest for pod ${podText} contains serviceAccountName (${goQuote(account)}) that differs from running pod (${goQuote(used)})`;
  }
  const uid = objects.get(serviceAccountKind, namespace, account)?.metadata.uid;
  if (uid === undefined) {
    const why = `serviceaccount ${goQuote(account)} not found`;
    return missing("service account", `${namespace}/${account}`, why);
  }
  if (uid !== serviceAccountUID) {
    return internalErrorStatus(
      `PodCertificateRequest for pod ${podText} names service account UID ${goQuote(serviceAccountUID)}, which differs from the running service account (${goQuote(uid)})`,
    );
  }
  if (mountsCertificateOf(pod, signerName)) return undefined;
  const { decision } = await authorizer.authorize({
    ...{ user, isResource: true, path: "", group: "certificates.k8s.io", version: "v1beta1" },
    verb: "request-serviceaccounts-podcertificate-signer",
    // Names of resources cannot hold slashes.
    resource: signerName.replaceAll("/", ":"),
    ...{ subresource: "", namespace, name: account },
  });
  if (decision === "allow") return undefined;
  return `pod ${podText} does not mount a podCertificate projected volume for signer ${goQuote(signerName)}`;
}

function mountsCertificateOf({ spec }: Pod, signerName: string): boolean {
  return (spec.volumes ?? []).some(({ projected }) =>
    (projected?.sources ?? []).some(
      ({ podCertificate }) => podCertificate?.signerName === signerName,
    ),
  );
}

function missing(what: string, name: string, why: string): Status {
  const text = `while retrieving ${what} ${goQuote(name)} named in the PodCertificateRequest`;
  return internalErrorStatus(`${text}: ${why}`);
}
