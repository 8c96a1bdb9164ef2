/** certificates.k8s.io/v1beta1 PodCertificateRequest: a certificate for one pod, asked by its node. */

import { formatLabels, nameColumn } from "#api/columns.ts";
import { keepFields, keepMetadata } from "#api/draft.ts";
import type { PodCertificateRequest } from "#api/generated/certificates.v1beta1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { invalid } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { validatePodRequest } from "./pod-request-spec.ts";
import { isOutcome, validatePodRequestStatus } from "./pod-request-status.ts";

const SPEC = "certificates.v1beta1.PodCertificateRequestSpec";

export const podCertificateRequestKind = defineKind<PodCertificateRequest>({
  group: "certificates.k8s.io",
  version: "v1beta1",
  names: { kind: "PodCertificateRequest", plural: "podcertificaterequests" },
  scope: "Namespaced",
  schema: builtInSchema("certificates.v1beta1.PodCertificateRequest"),
  nameRule: nameIsDnsSubdomain,
  defaults: ({ spec }) => {
    spec.maxExpirationSeconds ??= 24 * 60 * 60;
  },
  prepareCreate: (draft) => {
    draft.status = {};
  },
  prepareUpdate: (draft, old) => keepFields(draft, old, "status"),
  validate: ({ metadata, spec }, context) => [
    ...validateFinalizers(metadata),
    ...validatePodRequest(spec, context),
  ],
  validateUpdate: (request, old) => {
    const errors = validateKubeMetaUpdate(request, old);
    if (semanticEqual(request.spec, old.spec)) return errors;
    const value = internalForm(SPEC, request.spec);
    return [...errors, invalid(Path.of("spec"), value, "field is immutable")];
  },
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        keepFields(draft, old, "spec");
        keepMetadata(draft, old);
      },
      validateUpdate: validatePodRequestStatus,
    },
  },
  triggerField: "spec.nodeName",
  selectableFields: ({ spec }) => ({
    "spec.signerName": spec.signerName,
    "spec.podName": spec.podName,
    "spec.nodeName": spec.nodeName,
  }),
  columns: [
    nameColumn,
    ...(["PodName", "ServiceAccountName", "NodeName", "SignerName"] as const).map((name) => {
      const field = (name.charAt(0).toLowerCase() + name.slice(1)) as
        | "podName"
        | "serviceAccountName"
        | "nodeName"
        | "signerName";
      return {
        name,
        type: "string" as const,
        describedBy: `${SPEC}.${field}`,
        cell: ({ spec }: PodCertificateRequest) => spec[field],
      };
    }),
    {
      name: "State",
      type: "string",
      description: "Is the request Pending, Issued, Denied, or Failed?",
      cell: ({ status }) =>
        (status.conditions ?? []).findLast(({ type }) => isOutcome(type))?.type ?? "Pending",
    },
    {
      name: "UnverifiedUserAnnotations",
      type: "string",
      describedBy: `${SPEC}.unverifiedUserAnnotations`,
      cell: ({ spec }) => formatLabels(spec.unverifiedUserAnnotations),
    },
  ],
});
