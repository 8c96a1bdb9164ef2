/** certificates.k8s.io/v1 CertificateSigningRequest: a certificate asked for, approved, signed. */

import { fieldSet } from "#api/apply/field-set.ts";
import { ageColumn, humanDuration, NONE, nameColumn } from "#api/columns.ts";
import { keepFields } from "#api/draft.ts";
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
  CertificateSigningRequestStatus,
} from "#api/generated/certificates.v1.ts";
import { type Draft, defineKind, type RuleContext } from "#api/kind.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import type { ObjectMetaOptions } from "#api/validation/object-meta.ts";
import {
  type RequestTolerance,
  toleranceOf,
  validateRequest,
  validateStatusChange,
} from "./request-rules.ts";

const META: ObjectMetaOptions = { namespaced: false, nameRule: () => [] };

export const certificateSigningRequestKind = defineKind<CertificateSigningRequest>({
  group: "certificates.k8s.io",
  version: "v1",
  names: {
    kind: "CertificateSigningRequest",
    plural: "certificatesigningrequests",
    short: ["csr"],
  },
  scope: "Cluster",
  schema: builtInSchema("certificates.v1.CertificateSigningRequest"),
  resetFields: {
    "": { except: fieldSet(["spec"], ["status"]) },
    status: { except: fieldSet(["spec"], ["status", "conditions"]) },
    approval: { except: fieldSet(["spec"], ["status", "certificate"]) },
  },
  nameRule: META.nameRule,
  unconditionalUpdate: true,
  prepareCreate: (draft, { user }) => {
    draft.status = {};
    for (const field of ["username", "uid", "groups", "extra"] as const) delete draft.spec[field];
    if (user === undefined) return;
    const { username, uid, groups, extra } = user;
    if (username !== undefined) draft.spec.username = username;
    if (uid !== undefined) draft.spec.uid = uid;
    if (groups !== undefined) draft.spec.groups = [...groups];
    if (extra !== undefined) draft.spec.extra = structuredClone(extra) as Record<string, string[]>;
  },
  prepareUpdate: (draft, old) => keepFields(draft, old, "spec", "status"),
  validate: (request, context) => [
    ...validateFinalizers(request.metadata),
    ...validateRequest(request, STRICT, context),
  ],
  validateUpdate: (request, old, context) => validateUpdate(request, old, {}, context),
  subresources: {
    status: {
      prepareUpdate: (draft, old, { nowMs }) => {
        keepFields(draft, old, "spec");
        keepConditions(draft.status, old.status, "Approved");
        keepConditions(draft.status, old.status, "Denied");
        stampConditions(draft.status, old.status, nowMs);
      },
      validateUpdate: (request, old, context) =>
        validateUpdate(request, old, { certificate: true }, context),
    },
    approval: {
      prepareUpdate: (draft, old, { nowMs }) => {
        stampConditions(draft.status, old.status, nowMs);
        const { conditions } = draft.status;
        keepFields(draft, old, "spec");
        draft.status = { ...old.status } as Draft<CertificateSigningRequestStatus>;
        if (conditions === undefined) delete draft.status.conditions;
        else draft.status.conditions = conditions;
      },
      validateUpdate: (request, old, context) =>
        validateUpdate(request, old, { approval: true }, context),
    },
  },
  selectableFields: ({ spec }) => ({ "spec.signerName": spec.signerName }),
  columns: [
    nameColumn,
    ageColumn,
    {
      name: "SignerName",
      type: "string",
      describedBy: "certificates.v1beta1.CertificateSigningRequestSpec.signerName",
      cell: ({ spec }) => (spec.signerName === "" ? NONE : spec.signerName),
    },
    {
      name: "Requestor",
      type: "string",
      describedBy: "certificates.v1beta1.CertificateSigningRequestSpec.request",
      cell: ({ spec }) => spec.username ?? "",
    },
    {
      name: "RequestedDuration",
      type: "string",
      describedBy: "certificates.v1beta1.CertificateSigningRequestSpec.expirationSeconds",
      cell: ({ spec: { expirationSeconds } }) =>
        expirationSeconds === undefined ? NONE : humanDuration(expirationSeconds * 1000),
    },
    {
      name: "Condition",
      type: "string",
      describedBy: "certificates.v1beta1.CertificateSigningRequestStatus.conditions",
      cell: ({ status }) => statusText(status),
    },
  ],
});

const STRICT: RequestTolerance = toleranceOf(undefined, undefined);

function validateUpdate(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  may: { readonly certificate?: boolean; readonly approval?: boolean },
  context: RuleContext,
) {
  return [
    ...validateKubeMeta(request.metadata, META),
    ...validateRequest(request, toleranceOf(request, old), context),
    ...validateStatusChange(request.status, old.status, may),
    ...validateKubeMetaUpdate(request, old),
  ];
}

/** A status write cannot touch approvals, not even their times. */
function keepConditions(
  status: Draft<CertificateSigningRequestStatus>,
  old: CertificateSigningRequestStatus,
  type: string,
): void {
  const before = (old.conditions ?? []).filter((condition) => condition.type === type);
  const now = (status.conditions ?? []).filter((condition) => condition.type === type);
  if (before.length !== now.length || status.conditions === undefined) return;
  let next = 0;
  status.conditions = status.conditions.map((condition) =>
    condition.type === type ? { ...before[next++]! } : condition,
  );
}

function stampConditions(
  status: Draft<CertificateSigningRequestStatus>,
  old: CertificateSigningRequestStatus,
  nowMs: number,
): void {
  const now = timeFromMs(nowMs);
  for (const condition of status.conditions ?? []) {
    condition.lastUpdateTime ??= now;
    condition.lastTransitionTime ??= lastTransition(condition, old) ?? now;
  }
}

function lastTransition(
  { type, status }: CertificateSigningRequestCondition,
  { conditions = [] }: CertificateSigningRequestStatus,
): string | undefined {
  const same = conditions.find(
    (old) => old.type === type && old.status === status && (old.lastTransitionTime ?? "") !== "",
  );
  return same?.lastTransitionTime ?? undefined;
}

function statusText({ conditions = [], certificate = "" }: CertificateSigningRequestStatus) {
  const has = (type: string) => conditions.some((condition) => condition.type === type);
  const decision = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  return [
    decision,
    ...(has("Failed") ? ["Failed"] : []),
    ...(certificate === "" ? [] : ["Issued"]),
  ].join(",");
}
