/**
 * The sessions of users who have logged in.
 *
 * Promises:
 * 1. A session is proved by two secrets: the cookie, and the CSRF token that the page keeps for its
 *    own origin. Browsers send cookies of 127.0.0.1 to every port, so the cookie alone is no proof.
 * 2. Only digests of secrets are kept. A session ends twelve hours after its last use.
 * 3. A user has at most `USER_SESSIONS_MAX` sessions: the oldest one ends. Beyond `SESSIONS_MAX` in all, the
 *    one that was not used for the longest time ends.
 * 4. When a session ends, its signal aborts, which ends its connections.
 */
import { timingSafeEqual } from "node:crypto";
import type { Clock } from "#lib/time/clock.ts";
import type { ApiAccess } from "../api-access.ts";
import type { UserAccess } from "./login.ts";
import { digestOf, putNewest, secretKey } from "./secrets.ts";

const SESSION_IDLE_MAX_MS = 12 * 3_600_000;
const SESSIONS_MAX = 1_024;
const USER_SESSIONS_MAX = 16;

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

export interface Session {
  readonly api: ApiAccess;
  readonly signal: AbortSignal;
}

interface Open extends UserAccess {
  readonly csrfDigest: Buffer;
  readonly life: AbortController;
  readonly expiryMs: number;
}

export class Sessions implements Disposable {
  readonly #options: SessionsOptions;
  /** Used last at the end. */
  readonly #sessions = new Map<string, Open>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  [Symbol.dispose](): void {
    for (const key of [...this.#sessions.keys()]) this.#end(key);
  }

  open(access: UserAccess): SessionSecrets {
    const own = [...this.#sessions].filter(([, { user }]) => user === access.user);
    if (own.length >= USER_SESSIONS_MAX && own[0] !== undefined) this.#end(own[0][0]);
    const secrets = { session: this.#options.newSecret(), csrf: this.#options.newSecret() };
    const csrfDigest = digestOf(secrets.csrf);
    this.#keep(secretKey(secrets.session), { ...access, csrfDigest, life: new AbortController() });
    return secrets;
  }

  /** Undefined unless both secrets are those of one session. */
  find(session: string | undefined, csrf: string | undefined): Session | undefined {
    if (session === undefined || csrf === undefined) return undefined;
    const key = secretKey(session);
    const found = this.#sessions.get(key);
    if (found === undefined) return undefined;
    if (found.expiryMs <= this.#options.clock.elapsedMs()) {
      this.#end(key);
      return undefined;
    }
    if (!timingSafeEqual(found.csrfDigest, digestOf(csrf))) return undefined;
    this.#keep(key, found);
    return { api: found.api, signal: found.life.signal };
  }

  end(session: string): void {
    this.#end(secretKey(session));
  }

  #keep(key: string, open: Omit<Open, "expiryMs">): void {
    const expiryMs = this.#options.clock.elapsedMs() + SESSION_IDLE_MAX_MS;
    const dropped = putNewest(this.#sessions, key, { ...open, expiryMs }, SESSIONS_MAX);
    if (dropped !== undefined) close(dropped);
  }

  #end(key: string): void {
    const open = this.#sessions.get(key);
    this.#sessions.delete(key);
    if (open !== undefined) close(open);
  }
}

function close({ life, end }: Pick<Open, "life" | "end">): void {
  life.abort();
  end();
}
