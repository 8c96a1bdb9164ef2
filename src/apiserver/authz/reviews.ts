/** Access reviews: questions about permissions, answered by the authorizers that requests meet. */

import type {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from "#api/generated/authorization.v1.ts";
import type { KindOf, KubeObject } from "#api/kind.ts";
import {
  localSubjectAccessReviewKind,
  selfSubjectAccessReviewKind,
  subjectAccessReviewKind,
} from "#api/kinds/authorization/v1/access-reviews.ts";
import {
  badRequestStatus,
  failure,
  invalidStatus,
  type Result,
  success,
} from "#api/meta/status.ts";
import type { FieldError } from "#api/validation/field-error.ts";
import { fieldErrorSteps } from "#api/validation/field-errors.ts";
import { finish } from "#lib/async/steps.ts";
import { aggregateText } from "../config/aggregate-text.ts";
import type { User } from "../request/request.ts";
import type { Authorizer } from "./authorizer.ts";
import { reviewQuestion } from "./review-attributes.ts";

export async function reviewSubjectAccess(
  review: SubjectAccessReview,
  authorizer: Authorizer,
): Promise<Result<SubjectAccessReview>> {
  const faults = faultsOf(subjectAccessReviewKind, review);
  if (faults.length > 0) return malformed(faults);
  const status = await answer(review.spec, subjectOf(review.spec), authorizer);
  return success({ ...review, status });
}

export async function reviewLocalSubjectAccess(
  review: LocalSubjectAccessReview,
  namespace: string,
  authorizer: Authorizer,
): Promise<Result<LocalSubjectAccessReview>> {
  const faults = faultsOf(localSubjectAccessReviewKind, review);
  if (faults.length > 0) return malformed(faults);
  if (namespace !== review.metadata.namespace) {
    const message = `spec.resourceAttributes.namespace must match namespace: ${namespace}`;
    return failure(badRequestStatus(message));
  }
  const status = await answer(review.spec, subjectOf(review.spec), authorizer);
  return success({ ...review, status });
}

export async function reviewSelfAccess(
  review: SelfSubjectAccessReview,
  user: User,
  authorizer: Authorizer,
): Promise<Result<SelfSubjectAccessReview>> {
  const faults = faultsOf(selfSubjectAccessReviewKind, review);
  if (faults.length > 0) return malformed(faults);
  return success({ ...review, status: await answer(review.spec, user, authorizer) });
}

export function reviewSelfRules(
  { spec, kind, apiVersion }: SelfSubjectRulesReview,
  user: User,
  authorizer: Authorizer,
): Result<SelfSubjectRulesReview> {
  if (!spec.namespace) return failure(badRequestStatus("no namespace on request"));
  const answered = authorizer.rulesFor?.(user, spec.namespace);
  const rules = answered?.rules ?? [];
  const evaluationError = aggregateText(answered?.faults ?? []);
  return success({
    ...(kind === undefined ? {} : { kind }),
    ...(apiVersion === undefined ? {} : { apiVersion }),
    metadata: {},
    spec: {},
    status: {
      resourceRules: rules
        .filter(({ resources }) => resources?.length)
        .map(({ nonResourceURLs: _urls, ...rule }) => rule),
      nonResourceRules: rules
        .filter(({ nonResourceURLs }) => nonResourceURLs?.length)
        .map(({ verbs, nonResourceURLs = [] }) => ({ verbs, nonResourceURLs })),
      incomplete: answered?.incomplete ?? false,
      ...(evaluationError === "" ? {} : { evaluationError }),
    },
  });
}

async function answer(
  spec: Pick<SubjectAccessReviewSpec, "resourceAttributes" | "nonResourceAttributes">,
  user: User,
  authorizer: Authorizer,
): Promise<SubjectAccessReviewStatus> {
  const { attributes, faults } = reviewQuestion(spec, user);
  const { decision, reason } = await authorizer.authorize(attributes);
  return {
    allowed: decision === "allow",
    ...(decision === "deny" ? { denied: true } : {}),
    ...(reason === "" ? {} : { reason }),
    ...(faults.length > 0 ? { evaluationError: faults.join("; ") } : {}),
  };
}

function subjectOf({ user = "", groups = [], uid, extra }: SubjectAccessReviewSpec): User {
  return { name: user, groups, ...(uid ? { uid } : {}), ...(extra ? { extra } : {}) };
}

function faultsOf<T extends KubeObject>(kind: KindOf<T>, review: T): readonly FieldError[] {
  return finish(fieldErrorSteps(kind.validate?.(review, { nowMs: 0 })));
}

/** The message leaves the kind out: reviews arrive without it where it is written. */
function malformed(faults: readonly FieldError[]): ReturnType<typeof failure> {
  return failure(invalidStatus({ group: "authorization.k8s.io", kind: "" }, "", faults));
}
