/** Finds out whose token it is. Several of them are tried in order, as authenticators are. */
import type { Authentication } from "./authenticator.ts";

export interface TokenAuthenticator {
  readonly name: string;
  /** `audiences`: whom the token must be meant for; the API server itself unless given. */
  authenticateToken(
    token: string,
    audiences?: readonly string[],
  ): Authentication | Promise<Authentication>;
}

/** The first authenticator that accepts the token decides; otherwise all errors are returned. */
export function unionTokens(all: readonly TokenAuthenticator[]): TokenAuthenticator {
  const ask = (
    token: string,
    audiences: readonly string[] | undefined,
    from: number,
    reasons: readonly string[],
  ): Authentication | Promise<Authentication> => {
    for (let at = from; at < all.length; at++) {
      const answer = all[at]!.authenticateToken(token, audiences);
      if (answer instanceof Promise) {
        return answer.then((later) =>
          later.outcome === "known" ? later : ask(token, audiences, at + 1, add(reasons, later)),
        );
      }
      if (answer.outcome === "known") return answer;
      reasons = add(reasons, answer);
    }
    if (reasons.length === 0) return { outcome: "unknown" };
    return { outcome: "refused", reason: reasons.join("\n") };
  };
  return {
    name: "tokens",
    authenticateToken: (token, audiences) => ask(token, audiences, 0, []),
  };
}

function add(reasons: readonly string[], answer: Authentication): readonly string[] {
  return answer.outcome === "refused" ? [...reasons, answer.reason] : reasons;
}
