/**
 * Login by the link that `k8ts dashboard` prints: its token works once and for five minutes. Every session
 * acts as the user of the kubeconfig. The oldest tokens are dropped beyond a fixed number.
 */
import type { Clock } from "#lib/time/clock.ts";
import type { ApiAccess } from "../api-access.ts";
import type { Login, LoginResult } from "./login.ts";
import { putNewest, secretKey } from "./secrets.ts";

const TOKEN_LIFETIME_MS = 5 * 60_000;
const TOKENS_MAX = 16;

export interface LinkLoginOptions {
  readonly api: ApiAccess;
  readonly clock: Clock;
  /** A new secret that cannot be guessed, safe in URLs and cookies. */
  newSecret(): string;
}

export class LinkLogin implements Login {
  readonly by = "link";
  readonly #options: LinkLoginOptions;
  readonly #tokens = new Map<string, { readonly expiryMs: number }>();

  constructor(options: LinkLoginOptions) {
    this.#options = options;
  }

  newToken(): string {
    const token = this.#options.newSecret();
    const expiryMs = this.#options.clock.elapsedMs() + TOKEN_LIFETIME_MS;
    putNewest(this.#tokens, secretKey(token), { expiryMs }, TOKENS_MAX);
    return token;
  }

  /** Refuses tokens that were never given out, were used before, or are too old. */
  async login(token: string): Promise<LoginResult> {
    const key = secretKey(token);
    const found = this.#tokens.get(key);
    this.#tokens.delete(key);
    if (found === undefined || found.expiryMs <= this.#options.clock.elapsedMs())
      return { ok: false, code: 401, message: "the login token is not valid" };
    return { ok: true, access: { user: "", api: this.#options.api, end: () => undefined } };
  }
}
