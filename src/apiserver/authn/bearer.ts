/** Bearer tokens, in the Authorization header or, for browsers, among a WebSocket's subprotocols. */
import type { ApiRequest } from "../request/request.ts";
import type { Authentication, Authenticator } from "./authenticator.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";

export const TOKEN_PROTOCOL_PREFIX = "base64url.bearer.authorization.k8s.io.";
const INVALID_TOKEN: Authentication = { outcome: "refused", reason: "invalid bearer token" };

export function createBearerAuthenticator(tokens: TokenAuthenticator): Authenticator {
  return {
    name: "bearer-token",
    authenticate(request) {
      const presented = bearerToken(request) ?? protocolToken(request);
      if (presented === undefined) return { outcome: "unknown" };
      if (typeof presented !== "string") return presented;
      const answer = tokens.authenticateToken(presented);
      return answer instanceof Promise ? answer.then(insist) : insist(answer);
    },
  };
}

/** A request with a bearer token is never anonymous. */
function insist(answer: Authentication): Authentication {
  return answer.outcome === "unknown" ? INVALID_TOKEN : answer;
}

function bearerToken({ headers }: ApiRequest): string | undefined {
  const [scheme = "", token = ""] = (headers.authorization ?? "").trim().split(" ");
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

function protocolToken({ headers }: ApiRequest): string | Authentication | undefined {
  if (headers.upgrade?.toLowerCase() !== "websocket") return undefined;
  const protocols = (headers["sec-websocket-protocol"] ?? "").split(",").map((one) => one.trim());
  const carriers = protocols.filter((protocol) => protocol.startsWith(TOKEN_PROTOCOL_PREFIX));
  if (carriers.length === 0) return undefined;
  if (carriers.length > 1) {
    const reason = "multiple base64.bearer.authorization tokens specified";
    return { outcome: "refused", reason };
  }
  if (protocols.length === 1)
    return { outcome: "refused", reason: "missing additional subprotocol" };
  const encoded = carriers[0]!.slice(TOKEN_PROTOCOL_PREFIX.length);
  if (!/^[A-Za-z0-9_-]+$/.test(encoded)) {
    return { outcome: "refused", reason: "invalid base64.bearer.authorization token encoding" };
  }
  return Buffer.from(encoded, "base64url").toString("utf8");
}
