/**
 * Authentication and authorization of requests to the kubelet: client certificates of the cluster's
 * authority, or tokens that the API server knows (TokenReview); what users may do the API server decides
 * (SubjectAccessReview on the sub-resources of this node). Anonymous requests are refused unless they
 * are enabled.
 */
import { createHash } from "node:crypto";
import type { TokenReview } from "#api/generated/authentication.v1.ts";
import type { SubjectAccessReview } from "#api/generated/authorization.v1.ts";
import { tokenReviewKind } from "#api/kinds/authentication/v1/reviews.ts";
import { subjectAccessReviewKind } from "#api/kinds/authorization/v1/access-reviews.ts";
import type { Client } from "#client/client.ts";
import type { Clock } from "#lib/time/clock.ts";
import { ExpiringAnswers } from "./expiring-answers.ts";
import { nodeAttributes } from "./node-attributes.ts";

export interface KubeletUser {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid?: string;
}

export interface AccessOptions {
  readonly nodeName: string;
  readonly client: Client;
  readonly clock: Clock;
  /** `authentication.anonymous.enabled` */
  readonly anonymous: boolean;
  /** `authentication.webhook.enabled` */
  readonly tokens: boolean;
  readonly authorization: "Webhook" | "AlwaysAllow";
  /** How long answers of the API server are believed. */
  readonly tokenCacheMs?: number;
  readonly authorizedCacheMs?: number;
  readonly unauthorizedCacheMs?: number;
}

/** What a request shows of its sender. */
export interface Credentials {
  /** The subject of a verified client certificate. */
  readonly certificate: KubeletUser | undefined;
  readonly authorizationHeader: string | undefined;
}

export type AccessDecision =
  | { readonly allowed: true; readonly user: KubeletUser }
  | { readonly allowed: false; readonly code: 401 | 403 | 500; readonly message: string };

/** Upstream's defaults of `cacheTTL`, `cacheAuthorizedTTL` and `cacheUnauthorizedTTL`. */
const TOKEN_VALID_MS = 120_000;
const ALLOWED_VALID_MS = 300_000;
const DENIED_VALID_MS = 30_000;

const ANONYMOUS: KubeletUser = { name: "system:anonymous", groups: ["system:unauthenticated"] };

export class Access {
  readonly #options: AccessOptions;
  readonly #tokens: ExpiringAnswers<KubeletUser | undefined>;
  readonly #decisions: ExpiringAnswers<boolean>;

  constructor(options: AccessOptions) {
    this.#options = options;
    const { tokenCacheMs = TOKEN_VALID_MS, authorizedCacheMs = ALLOWED_VALID_MS } = options;
    const { unauthorizedCacheMs = DENIED_VALID_MS } = options;
    this.#tokens = new ExpiringAnswers(options.clock, () => tokenCacheMs);
    this.#decisions = new ExpiringAnswers(options.clock, (allowed) =>
      allowed ? authorizedCacheMs : unauthorizedCacheMs,
    );
  }

  async decide(credentials: Credentials, method: string, path: string): Promise<AccessDecision> {
    const user = await this.#userOf(credentials);
    if (user === undefined) return { allowed: false, code: 401, message: "Unauthorized" };
    const { verb, subresources } = nodeAttributes(method, path);
    if (this.#options.authorization === "AlwaysAllow") return { allowed: true, user };
    for (const subresource of subresources) {
      if (await this.#mayUse(user, verb, subresource)) return { allowed: true, user };
    }
    const what = `verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(" ")}]`;
    return { allowed: false, code: 403, message: `Forbidden (user=${user.name}, ${what})\n` };
  }

  async #userOf({
    certificate,
    authorizationHeader,
  }: Credentials): Promise<KubeletUser | undefined> {
    if (certificate !== undefined) {
      return { ...certificate, groups: [...certificate.groups, "system:authenticated"] };
    }
    const token = /^bearer (\S+)$/i.exec(authorizationHeader ?? "")?.[1];
    if (token === undefined) return this.#options.anonymous ? ANONYMOUS : undefined;
    if (!this.#options.tokens) return undefined;
    // Tokens are not kept: a hash is enough to know one again.
    const hash = createHash("sha256").update(token).digest("base64");
    return this.#tokens.get(hash, () => this.#reviewToken(token));
  }

  async #reviewToken(token: string): Promise<KubeletUser | undefined> {
    const review = await this.#options.client.ask(tokenReviewKind, {
      apiVersion: tokenReviewKind.apiVersion,
      kind: "TokenReview",
      metadata: {},
      spec: { token },
    } as TokenReview);
    if (!review.ok) throw new Error(review.status.message);
    const { authenticated, user } = review.value.status ?? {};
    if (authenticated !== true) return undefined;
    const { username = "", groups = [], uid } = user ?? {};
    return { name: username, groups, ...(uid === undefined ? {} : { uid }) };
  }

  #mayUse(user: KubeletUser, verb: string, subresource: string): Promise<boolean> {
    const question = JSON.stringify([user, verb, subresource]);
    return this.#decisions.get(question, async () => {
      const { nodeName, client } = this.#options;
      const { name, groups, uid } = user;
      const review = await client.ask(subjectAccessReviewKind, {
        apiVersion: subjectAccessReviewKind.apiVersion,
        kind: "SubjectAccessReview",
        metadata: {},
        spec: {
          user: name,
          groups,
          ...(uid === undefined ? {} : { uid }),
          resourceAttributes: {
            verb,
            version: "v1",
            resource: "nodes",
            subresource,
            name: nodeName,
          },
        },
      } as SubjectAccessReview);
      if (!review.ok) throw new Error(review.status.message);
      return review.value.status?.allowed === true;
    });
  }
}
