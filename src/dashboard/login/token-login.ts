/**
 * Login by a bearer token: that of a service account, or any other that the API server accepts. The token is
 * checked with a SelfSubjectReview and kept in memory for the session; every request of the session is sent
 * with it, so authorization and audit see its user.
 *
 * At most `LOGINS_AT_ONCE_MAX` tokens are checked at a time.
 */
import type { Connection } from "#client/kubeconfig.ts";
import { messageOf } from "#lib/caught.ts";
import { ApiAccess } from "../api-access.ts";
import type { Login, LoginResult } from "./login.ts";

const LOGINS_AT_ONCE_MAX = 8;
const ANSWER_BYTES_MAX = 256 * 1024;
/** The characters of RFC 6750. */
const BEARER_TOKEN = /^[\w\-.~+/]+=*$/;
const REVIEW_PATH = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const REVIEW = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };

/** How the API server is reached, without credentials. */
export type ServerAddress = Pick<Connection, "server" | "ca" | "serverName" | "insecure">;

export class TokenLogin implements Login {
  readonly by = "token";
  readonly #server: ServerAddress;
  #running = 0;

  constructor(server: ServerAddress) {
    this.#server = server;
  }

  async login(text: string, signal: AbortSignal): Promise<LoginResult> {
    const token = text.trim();
    if (!BEARER_TOKEN.test(token)) return refused("this is not a bearer token");
    if (this.#running >= LOGINS_AT_ONCE_MAX)
      return { ok: false, code: 429, message: "too many logins at once: try again" };
    this.#running += 1;
    const api = new ApiAccess({ ...this.#server, token: () => token });
    try {
      const user = await userOf(api, signal);
      if (user !== undefined)
        return { ok: true, access: { user, api, end: () => api[Symbol.dispose]() } };
      api[Symbol.dispose]();
      return refused("the API server does not accept this token: it is wrong or has expired");
    } catch (error) {
      api[Symbol.dispose]();
      const message = `the API server cannot check the token: ${messageOf(error)}`;
      return { ok: false, code: 502, message };
    } finally {
      this.#running -= 1;
    }
  }
}

function refused(message: string): LoginResult {
  return { ok: false, code: 401, message };
}

/** Undefined if the server does not know the token. */
async function userOf(api: ApiAccess, signal: AbortSignal): Promise<string | undefined> {
  const answer = await api.post(REVIEW_PATH, REVIEW, signal);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error("the answer is too long");
    chunks.push(chunk);
  }
  if (answer.statusCode === 401) return undefined;
  const text = Buffer.concat(chunks).toString("utf8");
  if (answer.statusCode !== 201)
    throw new Error(`it answered ${answer.statusCode}: ${text.slice(0, 500)}`);
  const review = JSON.parse(text) as {
    readonly status?: { readonly userInfo?: { readonly username?: string } };
  };
  return review.status?.userInfo?.username;
}
