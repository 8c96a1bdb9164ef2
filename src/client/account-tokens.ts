/**
 * Tokens of service accounts for components that act as them: requested from the API server, renewed
 * when four fifths of their life are over. The account is made if it is not there.
 */
import type { TokenRequest } from "#api/generated/authentication.v1.ts";
import type { ServiceAccount } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Client, Typed } from "./client.ts";

const LIFE_SECONDS = 3_600;

const accounts = {
  group: "",
  version: "v1",
  apiVersion: "v1",
  scope: "Namespaced",
  names: { kind: "ServiceAccount", plural: "serviceaccounts" },
} as const;
const accountRef: Typed<ServiceAccount> = accounts;
/** Tokens are asked for below the account, with requests that are of a kind of their own. */
const tokenRef: Typed<TokenRequest> = accounts;

export class AccountTokens {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #tokens = new Map<
    string,
    Promise<{ readonly token: string; readonly renewAtMs: number }>
  >();

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  async token(namespace: string, name: string): Promise<string> {
    const id = `${namespace}/${name}`;
    let request = this.#tokens.get(id);
    if (request !== undefined && (await request).renewAtMs <= this.#clock.nowMs())
      request = undefined;
    if (request === undefined) {
      request = this.#request(namespace, name);
      request.catch(() => this.#tokens.delete(id)); // the next one tries again
      this.#tokens.set(id, request);
    }
    return (await request).token;
  }

  async #request(namespace: string, name: string): Promise<{ token: string; renewAtMs: number }> {
    const metadata = { namespace, name };
    const body: TokenRequest = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata,
      spec: { audiences: null, boundObjectRef: null, expirationSeconds: LIFE_SECONDS },
      status: { token: "", expirationTimestamp: null },
    };
    let answer = await this.#client.create(tokenRef, body, { subresource: "token" });
    if (!answer.ok && answer.status.code === 404) {
      await this.#client.create(accountRef, { apiVersion: "v1", kind: "ServiceAccount", metadata });
      answer = await this.#client.create(tokenRef, body, { subresource: "token" });
    }
    if (!answer.ok) throw new Error(`no token for ${namespace}/${name}: ${answer.status.message}`);
    const { status } = answer.value;
    const nowMs = this.#clock.nowMs();
    const endMs = timeToMs(status.expirationTimestamp ?? "");
    return { token: status.token, renewAtMs: nowMs + (endMs - nowMs) * 0.8 };
  }
}
