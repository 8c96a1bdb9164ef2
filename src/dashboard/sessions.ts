/**
 * Who may use the dashboard: a login token from the URL is exchanged once for a session.
 *
 * Promises:
 * 1. A login token works once and for five minutes.
 * 2. A session is proved by two secrets: the cookie, and the CSRF token that the page keeps for its
 *    own origin. Browsers send cookies of 127.0.0.1 to every port, so the cookie alone is no proof.
 * 3. Only digests of secrets are kept. A session ends twelve hours after its last use.
 * 4. The oldest sessions and login tokens are dropped beyond a fixed number.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Clock } from "#lib/time/clock.ts";

const LOGIN_TOKEN_LIFETIME_MS = 5 * 60_000;
const SESSION_IDLE_MAX_MS = 12 * 3_600_000;
const LOGIN_TOKENS_MAX = 16;
const SESSIONS_MAX = 64;

export interface SessionSecrets {
  /** For the cookie. */
  readonly session: string;
  /** For the header `x-csrf-token`. */
  readonly csrf: string;
}

export interface SessionsOptions {
  readonly clock: Clock;
  /** A new secret that cannot be guessed, safe in URLs and cookies. */
  newSecret(): string;
}

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #loginTokens = new Map<string, { readonly expiryMs: number }>();
  readonly #sessions = new Map<
    string,
    { readonly csrfDigest: Buffer; readonly expiryMs: number }
  >();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  newLoginToken(): string {
    const token = this.#options.newSecret();
    const expiryMs = this.#options.clock.elapsedMs() + LOGIN_TOKEN_LIFETIME_MS;
    put(this.#loginTokens, keyOf(token), { expiryMs }, LOGIN_TOKENS_MAX);
    return token;
  }

  /** Undefined if the token was never given out, was used before, or is too old. */
  exchange(loginToken: string): SessionSecrets | undefined {
    const key = keyOf(loginToken);
    const found = this.#loginTokens.get(key);
    this.#loginTokens.delete(key);
    if (found === undefined || found.expiryMs <= this.#options.clock.elapsedMs()) return undefined;
    const secrets = { session: this.#options.newSecret(), csrf: this.#options.newSecret() };
    this.#keep(keyOf(secrets.session), digestOf(secrets.csrf));
    return secrets;
  }

  isValid(session: string | undefined, csrf: string | undefined): boolean {
    if (session === undefined || csrf === undefined) return false;
    const key = keyOf(session);
    const found = this.#sessions.get(key);
    if (found === undefined) return false;
    if (found.expiryMs <= this.#options.clock.elapsedMs()) {
      this.#sessions.delete(key);
      return false;
    }
    if (!timingSafeEqual(found.csrfDigest, digestOf(csrf))) return false;
    this.#keep(key, found.csrfDigest);
    return true;
  }

  end(session: string): void {
    this.#sessions.delete(keyOf(session));
  }

  #keep(key: string, csrfDigest: Buffer): void {
    const expiryMs = this.#options.clock.elapsedMs() + SESSION_IDLE_MAX_MS;
    put(this.#sessions, key, { csrfDigest, expiryMs }, SESSIONS_MAX);
  }
}

/** The entry becomes the newest; the oldest one beyond the limit goes. */
function put<T>(map: Map<string, T>, key: string, value: T, limit: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= limit) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

function digestOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

function keyOf(secret: string): string {
  return digestOf(secret).toString("base64");
}
