/** TokenReview and SelfSubjectReview. */
import type { SelfSubjectReview, TokenReview, UserInfo } from "#api/generated/authentication.v1.ts";
import { badRequestStatus, failure, type Result, success } from "#api/meta/status.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { aggregateText } from "../config/aggregate-text.ts";
import type { User } from "../request/request.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";

export async function reviewToken(
  review: TokenReview,
  tokens: TokenAuthenticator,
  apiAudiences: readonly string[],
): Promise<Result<TokenReview>> {
  const { token, audiences } = review.spec;
  if (!token) {
    return failure(badRequestStatus("token is required for TokenReview in authentication"));
  }
  const wanted = audiences?.length ? audiences : apiAudiences;
  const answer = await tokens.authenticateToken(token, wanted);
  if (answer.outcome !== "known") {
    const reasons = answer.outcome === "refused" ? answer.reason.split("\n") : [];
    const error = aggregateText(["invalid bearer token", ...reasons]);
    return success({ ...review, status: { user: {}, error } });
  }
  // Authenticators that know nothing of audiences speak for the API server.
  const meantFor = answer.audiences ?? wanted.filter((one) => apiAudiences.includes(one));
  if (meantFor.length === 0) {
    return success({ ...review, status: { user: {}, error: "invalid bearer token" } });
  }
  const user = userInfo(answer.user);
  return success({ ...review, status: { authenticated: true, user, audiences: meantFor } });
}

export function reviewSelf(
  { kind, apiVersion }: SelfSubjectReview,
  user: User,
  nowMs: number,
): SelfSubjectReview {
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(apiVersion === undefined ? {} : { apiVersion }),
    metadata: { creationTimestamp: timeFromMs(nowMs) },
    status: { userInfo: userInfo(user) },
  };
}

/** A user as the API shows one. */
export function userInfo({ name, uid, groups, extra }: User): UserInfo {
  return {
    ...(name === "" ? {} : { username: name }),
    ...(uid === undefined ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra: inOrder(extra) }),
  };
}

/** By name, as maps are written everywhere. */
function inOrder(extra: NonNullable<User["extra"]>): NonNullable<User["extra"]> {
  const names = Object.keys(extra);
  if (names.length === 1) return extra;
  return Object.fromEntries(names.sort().map((name) => [name, extra[name]!]));
}
