/**
 * Tokens of service accounts, bound to the pods that use them. A token is asked for again when four
 * fifths of its life or a day have passed. One that cannot be renewed is used until it expires.
 */
import type { TokenRequest } from "#api/generated/authentication.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import type { Client, Typed } from "#client/client.ts";
import type { Clock } from "#lib/time/clock.ts";

const DEFAULT_SECONDS = 3_600;
const LIFE_MAX_MS = 24 * 3_600_000;
const CACHE_MAX = 10_000;
/** A renewal that failed is tried again after this time. */
const RETRY_MS = 10_000;

const tokenRef: Typed<TokenRequest> = {
  group: "",
  version: "v1",
  apiVersion: "v1",
  scope: "Namespaced",
  names: { kind: "ServiceAccount", plural: "serviceaccounts" },
};

export interface TokenSpec {
  readonly audience?: string | undefined;
  readonly expirationSeconds?: number | undefined;
}

export interface PodToken {
  readonly token: string;
  readonly expiresAtMs: number;
  /** By the clock's `elapsedMs`. */
  readonly renewAtMs: number;
}

export class PodTokens {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #tokens = new Map<string, PodToken>();

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  async get(pod: Pod, { audience = "", expirationSeconds }: TokenSpec): Promise<PodToken> {
    const id = `${pod.metadata.uid}/${audience}/${expirationSeconds ?? 0}`;
    const known = this.#tokens.get(id);
    if (known !== undefined && known.renewAtMs > this.#clock.elapsedMs()) return known;
    const fresh = await this.#request(pod, audience, expirationSeconds).catch((error: unknown) => {
      if (known === undefined || known.expiresAtMs <= this.#clock.nowMs()) throw error;
      return { ...known, renewAtMs: this.#clock.elapsedMs() + RETRY_MS };
    });
    this.#tokens.delete(id);
    this.#tokens.set(id, fresh);
    if (this.#tokens.size > CACHE_MAX) this.#tokens.delete(this.#tokens.keys().next().value!);
    return fresh;
  }

  forget(uid: string): void {
    for (const id of this.#tokens.keys()) if (id.startsWith(`${uid}/`)) this.#tokens.delete(id);
  }

  async #request(pod: Pod, audience: string, seconds = DEFAULT_SECONDS): Promise<PodToken> {
    const { namespace = "", name = "", uid = "" } = pod.metadata;
    const account = pod.spec.serviceAccountName || "default";
    const body: TokenRequest = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: { namespace, name: account },
      spec: {
        audiences: audience === "" ? null : [audience],
        boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
        expirationSeconds: seconds,
      },
      status: { token: "", expirationTimestamp: null },
    };
    const answer = await this.#client.create(tokenRef, body, { subresource: "token" });
    if (!answer.ok) throw new Error(`failed to fetch token: ${answer.status.message ?? ""}`);
    const { token, expirationTimestamp } = answer.value.status;
    const expiresAtMs = timeToMs(expirationTimestamp ?? "");
    const lifeMs = expiresAtMs - this.#clock.nowMs();
    const renewInMs = Math.min(lifeMs * 0.8, LIFE_MAX_MS);
    return { token, expiresAtMs, renewAtMs: this.#clock.elapsedMs() + renewInMs };
  }
}
