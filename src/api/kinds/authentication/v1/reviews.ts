/**
 * authentication.k8s.io/v1: whose token is this, and who am I? Answered at once and never stored.
 * TokenRequest is written through a ServiceAccount's `token` subresource.
 */

import type {
  SelfSubjectReview,
  TokenRequest,
  TokenReview,
} from "#api/generated/authentication.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";

const TOKEN_SECONDS_DEFAULT = 60 * 60;
const TOKEN_SECONDS_MIN = 10 * 60;
const TOKEN_SECONDS_MAX = 2 ** 32;

const REVIEW = {
  group: "authentication.k8s.io",
  version: "v1",
  verbs: ["create"],
  scope: "Cluster",
  nameRule: () => [],
  transient: true,
  columns: [],
} as const;

/** Without a token the server answers Bad Request, not a broken field. */
export const tokenReviewKind = defineKind<TokenReview>({
  ...REVIEW,
  names: { kind: "TokenReview", plural: "tokenreviews" },
  schema: builtInSchema("authentication.v1.TokenReview"),
});

export const selfSubjectReviewKind = defineKind<SelfSubjectReview>({
  ...REVIEW,
  names: { kind: "SelfSubjectReview", plural: "selfsubjectreviews" },
  schema: builtInSchema("authentication.v1.SelfSubjectReview"),
});

export function withTokenDefaults(request: TokenRequest): TokenRequest {
  const { spec } = request;
  const expirationSeconds = spec.expirationSeconds ?? TOKEN_SECONDS_DEFAULT;
  return { ...request, spec: { ...spec, expirationSeconds } };
}

export function validateTokenRequest({ spec }: TokenRequest): FieldError[] {
  const seconds = spec.expirationSeconds ?? 0;
  const path = Path.of("spec", "expirationSeconds");
  if (seconds < TOKEN_SECONDS_MIN) {
    return [invalid(path, seconds, "may not specify a duration less than 10 minutes")];
  }
  if (seconds > TOKEN_SECONDS_MAX) {
    return [invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")];
  }
  return [];
}
