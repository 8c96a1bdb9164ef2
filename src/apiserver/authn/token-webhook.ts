/**
 * Webhook token authentication: sends a TokenReview to another server. Its responses are cached,
 * failures are not. Concurrent requests with the same token share one call.
 */
import { createHash } from "node:crypto";
import type { TokenReviewStatus } from "#api/generated/authentication.v1.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { ExpiringCache } from "../webhook/expiring-cache.ts";
import type { AskWebhook } from "../webhook/webhook.ts";
import type { Authentication } from "./authenticator.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";
import { authenticated } from "./users.ts";

export interface TokenWebhookOptions {
  readonly ask: AskWebhook;
  readonly version: "v1" | "v1beta1";
  readonly cacheMs: number;
  /** Of the API server: whom a token is meant for if the answer does not say. */
  readonly audiences: readonly string[];
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly logger: Logger;
}

const CACHED_MAX = 8_192;

export function createTokenWebhook(options: TokenWebhookOptions): TokenAuthenticator {
  const { ask, version, cacheMs, clock, logger } = options;
  const cache = new ExpiringCache<Authentication>(clock, CACHED_MAX);
  const asking = new Map<string, Promise<Authentication>>();
  const review = async (
    token: string,
    wanted: readonly string[],
    key: string,
  ): Promise<Authentication> => {
    const spec = { token, ...(wanted.length === 0 ? {} : { audiences: wanted }) };
    const apiVersion = `authentication.k8s.io/${version}`;
    try {
      const answer = await ask({ kind: "TokenReview", apiVersion, metadata: {}, spec });
      const status = (answer as { status?: Partial<TokenReviewStatus> } | undefined)?.status ?? {};
      const known = authenticationOf(status, wanted, options.audiences);
      cache.set(key, known, cacheMs);
      return known;
    } catch (error) {
      logger.error("the webhook of tokens could not be asked", { error });
      return { outcome: "refused", reason: messageOf(error) };
    } finally {
      asking.delete(key);
    }
  };
  return {
    name: "webhook",
    authenticateToken(token, audiences = options.audiences) {
      const key = createHash("sha256")
        .update(JSON.stringify([token, audiences]))
        .digest("base64");
      const cached = cache.get(key) ?? asking.get(key);
      if (cached !== undefined) return cached;
      const answer = review(token, audiences, key);
      asking.set(key, answer);
      return answer;
    },
  };
}

function authenticationOf(
  { authenticated: known = false, user, audiences, error = "" }: Partial<TokenReviewStatus>,
  wanted: readonly string[],
  own: readonly string[],
): Authentication {
  const meantFor = audiences?.length ? audiences : own;
  const both = wanted.filter((one) => meantFor.includes(one));
  if (wanted.length > 0 && both.length === 0) return { outcome: "unknown" };
  if (!known) {
    return error === "" ? { outcome: "unknown" } : { outcome: "refused", reason: error };
  }
  const { username = "", uid, groups = [], extra } = user ?? {};
  return {
    outcome: "known",
    user: authenticated({
      name: username,
      groups,
      ...(uid === undefined ? {} : { uid }),
      ...(extra === undefined ? {} : { extra }),
    }),
    audiences: both,
  };
}
