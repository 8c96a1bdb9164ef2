/** The review resources: TokenReview, SelfSubjectReview and the access reviews. */

import type {
  SelfSubjectReview,
  TokenRequest,
  TokenReview,
} from "#api/generated/authentication.v1.ts";
import type {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
} from "#api/generated/authorization.v1.ts";
import { withTokenDefaults } from "#api/kinds/authentication/v1/reviews.ts";
import { success } from "#api/meta/status.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import { decodeToken, stringClaim } from "../authn/jwt.ts";
import { reviewSelf, reviewToken } from "../authn/reviews.ts";
import {
  reviewLocalSubjectAccess,
  reviewSelfAccess,
  reviewSelfRules,
  reviewSubjectAccess,
} from "../authz/reviews.ts";
import { expectKind } from "../request/decode-body.ts";
import type { SpecialVerbs } from "../request/dispatch.ts";
import type { RequestSecurity } from "../request/security.ts";
import type { VerbRequest } from "../request/verb.ts";
import { unstoredCreate } from "./unstored-create.ts";

const ISSUED = "authentication.kubernetes.io/issued-credential-id";

export function reviewVerbs(security: RequestSecurity): SpecialVerbs {
  const { authorizer, tokens, audiences, issueToken } = security;
  const expect = ({ resource }: VerbRequest) => expectKind(resource.kind);
  return {
    "authentication.k8s.io/tokenreviews": {
      create: unstoredCreate<TokenReview>({
        expect,
        answer: (review) => reviewToken(review, tokens, audiences),
      }),
    },
    "authentication.k8s.io/selfsubjectreviews": {
      create: unstoredCreate<SelfSubjectReview>({
        expect,
        answer: async (review, { user, parts }) =>
          success(reviewSelf(review, user, parts.clock.nowMs())),
      }),
    },
    "authorization.k8s.io/subjectaccessreviews": {
      create: unstoredCreate<SubjectAccessReview>({
        expect,
        answer: (review) => reviewSubjectAccess(review, authorizer),
      }),
    },
    "authorization.k8s.io/localsubjectaccessreviews": {
      create: unstoredCreate<LocalSubjectAccessReview>({
        expect,
        answer: (review, { info }) => reviewLocalSubjectAccess(review, info.namespace, authorizer),
      }),
    },
    "authorization.k8s.io/selfsubjectaccessreviews": {
      create: unstoredCreate<SelfSubjectAccessReview>({
        expect,
        answer: (review, { user }) => reviewSelfAccess(review, user, authorizer),
      }),
    },
    "authorization.k8s.io/selfsubjectrulesreviews": {
      create: unstoredCreate<SelfSubjectRulesReview>({
        expect,
        answer: async (review, { user }) => reviewSelfRules(review, user, authorizer),
      }),
    },
    "/serviceaccounts/token": {
      create: unstoredCreate<TokenRequest>({
        expect: () => ({
          kind: "TokenRequest",
          group: "authentication.k8s.io",
          version: "v1",
          schema: schemaOf("authentication.v1.TokenRequest"),
        }),
        keepsMetadata: true, // a uid says which account of the name is meant
        answer: async (request, { info, warn, annotate }) => {
          const issued = issueToken(request, info.namespace, info.name, warn);
          if (issued.ok) annotate?.(ISSUED, credentialId(issued.value));
          return issued;
        },
        withDefaults: withTokenDefaults,
      }),
    },
  };
}

/** The token's own name, by which its uses can be found in the audit log. */
function credentialId({ status }: TokenRequest): string {
  const claims = decodeToken(status?.token ?? "")?.claims ?? {};
  return `JTI=${stringClaim(claims, "jti")}`;
}
