/**
 * Authentication and authorization of requests to an extension API server: the API server's front proxy
 * (by its certificate and the X-Remote- headers), client certificates of the cluster, or tokens
 * (TokenReview); authorization by SubjectAccessReview. The trusted authorities are read from
 * `kube-system/extension-apiserver-authentication`, which is followed.
 *
 * Promises:
 * 1. Headers of a front proxy count only with a certificate of its authority and an allowed name.
 * 2. Answers of reviews are kept for 10 s, as upstream's extension servers keep them; tokens are kept as hashes.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { TokenReview } from "#api/generated/authentication.v1.ts";
import type { SubjectAccessReview } from "#api/generated/authorization.v1.ts";
import type { ConfigMap } from "#api/generated/core.v1.ts";
import { tokenReviewKind } from "#api/kinds/authentication/v1/reviews.ts";
import { subjectAccessReviewKind } from "#api/kinds/authorization/v1/access-reviews.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { createFrontProxyAuthenticator } from "#apiserver/authn/front-proxy.ts";
import { type ClientAuthorities, peerOf } from "#apiserver/authn/peer-certificate.ts";
import { authenticated } from "#apiserver/authn/users.ts";
import type { ApiRequest, RequestInfo, User } from "#apiserver/request/request.ts";
import type { Client } from "#client/client.ts";
import { Informer } from "#client/informer.ts";
import { ExpiringAnswers } from "#kubelet/server/access/expiring-answers.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";

const NAMESPACE = "kube-system";
const NAME = "extension-apiserver-authentication";
const VALID_MS = 10_000;

export interface DelegatedAccessOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class DelegatedAccess {
  readonly #client: Client;
  readonly #config: Informer<ConfigMap>;
  readonly #tokens: ExpiringAnswers<User | undefined>;
  readonly #decisions: ExpiringAnswers<boolean>;

  constructor(options: DelegatedAccessOptions) {
    this.#client = options.client;
    const fieldSelector = `metadata.name=${NAME}`;
    this.#config = new Informer<ConfigMap>({
      ...{ ...options, kind: configMapKind, namespace: NAMESPACE, fieldSelector },
    });
    this.#tokens = new ExpiringAnswers(options.clock, () => VALID_MS);
    this.#decisions = new ExpiringAnswers(options.clock, () => VALID_MS);
  }

  /** Follows the configuration until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#config.run(signal);
  }

  /** Resolves when it is known whom to trust. */
  get synced(): Promise<void> {
    return this.#config.synced;
  }

  /** Called when other authorities are trusted than before. */
  onChange(call: () => void, signal: AbortSignal): void {
    this.#config.on(call, signal);
  }

  get authorities(): ClientAuthorities {
    const data = this.#config.cache.get(NAMESPACE, NAME)?.data ?? {};
    const clientCaPem = data["client-ca-file"];
    const frontProxyCaPem = data["requestheader-client-ca-file"];
    return {
      ...(clientCaPem === undefined ? {} : { clientCaPem }),
      ...(frontProxyCaPem === undefined ? {} : { frontProxyCaPem }),
    };
  }

  async userOf(message: IncomingMessage): Promise<User | undefined> {
    const peer = peerOf(message.socket as TLSSocket, this.authorities);
    const proxied = await this.#frontProxyUser(message, peer);
    if (proxied !== undefined) return proxied;
    const { certificate } = peer;
    if (certificate?.client === true && certificate.commonName !== "") {
      return authenticated({ name: certificate.commonName, groups: certificate.organizations });
    }
    const token = /^bearer (\S+)$/i.exec(message.headers.authorization ?? "")?.[1];
    if (token === undefined) return undefined;
    const hash = createHash("sha256").update(token).digest("base64");
    return this.#tokens.get(hash, () => this.#reviewToken(token));
  }

  async mayDo(user: User, info: RequestInfo): Promise<boolean> {
    if (user.groups.includes("system:masters")) return true;
    const { verb, path, group, version, resource, subresource, namespace, name } = info;
    const attributes = info.isResource
      ? { resourceAttributes: { verb, group, version, resource, subresource, namespace, name } }
      : { nonResourceAttributes: { path, verb } };
    const question = JSON.stringify([user, attributes]);
    return this.#decisions.get(question, async () => {
      const { name: userName, groups, uid, extra } = user;
      const review = await this.#client.ask(subjectAccessReviewKind, {
        apiVersion: subjectAccessReviewKind.apiVersion,
        kind: "SubjectAccessReview",
        metadata: {},
        spec: {
          ...{ user: userName, groups, ...attributes },
          ...(uid === undefined ? {} : { uid }),
          ...(extra === undefined ? {} : { extra }),
        },
        status: { allowed: false },
      } as SubjectAccessReview);
      if (!review.ok) throw new Error(review.status.message);
      return review.value.status?.allowed === true;
    });
  }

  async #frontProxyUser(
    { headers, rawHeaders }: IncomingMessage,
    peer: ApiRequest["peer"],
  ): Promise<User | undefined> {
    const data = this.#config.cache.get(NAMESPACE, NAME)?.data ?? {};
    const list = (key: string): readonly string[] => listIn(data[`requestheader-${key}`]);
    const proxy = createFrontProxyAuthenticator({
      allowedNames: list("allowed-names"),
      usernameHeaders: list("username-headers"),
      uidHeaders: list("uid-headers"),
      groupHeaders: list("group-headers"),
      extraHeaderPrefixes: list("extra-headers-prefix"),
    });
    const first = Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value[0] : value,
    ]);
    const found = await proxy.authenticate({
      ...{ method: "GET", path: "/", query: new URLSearchParams(), body: { form: "none" } },
      ...{ headers: Object.fromEntries(first), rawHeaders, peer },
      signal: AbortSignal.abort(), // nothing is waited for
    });
    return found.outcome === "known" ? found.user : undefined;
  }

  async #reviewToken(token: string): Promise<User | undefined> {
    const review = await this.#client.ask(tokenReviewKind, {
      apiVersion: tokenReviewKind.apiVersion,
      kind: "TokenReview",
      metadata: {},
      spec: { token },
    } as TokenReview);
    if (!review.ok) throw new Error(review.status.message);
    const { authenticated: isKnown, user } = review.value.status ?? {};
    if (isKnown !== true) return undefined;
    const { username = "", groups = [], uid, extra } = user ?? {};
    return {
      ...{ name: username, groups: groups ?? [] },
      ...(uid === undefined ? {} : { uid }),
      ...(extra === undefined ? {} : { extra: extra as NonNullable<User["extra"]> }),
    };
  }
}

function listIn(json = "[]"): readonly string[] {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}
