/**
 * The authenticators of the server, called in order. Invalid credentials are refused; only a request
 * without credentials is anonymous.
 */
import { aggregateText } from "../config/aggregate-text.ts";
import type { ApiRequest } from "../request/request.ts";
import type { Authentication, Authenticator } from "./authenticator.ts";
import { anonymousUser } from "./users.ts";

export interface AnonymousOptions {
  readonly enabled: boolean;
  /** Only there, exactly. */
  readonly paths?: readonly string[];
}

export function chainAuthenticators(
  authenticators: readonly Authenticator[],
  anonymous: AnonymousOptions,
): Authenticator {
  const ask = (
    request: ApiRequest,
    from: number,
    reasons: readonly string[],
  ): Authentication | Promise<Authentication> => {
    for (let at = from; at < authenticators.length; at++) {
      const answer = authenticators[at]!.authenticate(request);
      if (answer instanceof Promise) {
        return answer.then((later) =>
          later.outcome === "known" ? later : ask(request, at + 1, add(reasons, later)),
        );
      }
      if (answer.outcome === "known") return answer;
      reasons = add(reasons, answer);
    }
    if (reasons.length > 0) return { outcome: "refused", reason: aggregateText(reasons) };
    const isAnonymousAllowed =
      anonymous.enabled && (anonymous.paths?.includes(request.path) ?? true);
    return isAnonymousAllowed ? ANONYMOUS : { outcome: "refused", reason: "no credentials" };
  };
  return {
    name: "union",
    authenticate(request) {
      const { user } = request.peer;
      return user === undefined ? ask(request, 0, []) : { outcome: "known", user };
    },
  };
}

const ANONYMOUS: Authentication = { outcome: "known", user: anonymousUser };

function add(reasons: readonly string[], answer: Authentication): readonly string[] {
  return answer.outcome === "refused" ? [...reasons, answer.reason] : reasons;
}
