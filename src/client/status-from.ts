/**
 * The Status of an answer that is no success. Proxies, and paths that nobody serves, answer in plain
 * text: what that means is said in the words that clients of Kubernetes use for it.
 */
import type { Status } from "#api/generated/meta.v1.ts";

export function statusFrom(code: number, body: unknown): Status {
  const isStatus = typeof body === "object" && body !== null && (body as Status).kind === "Status";
  return isStatus ? (body as Status) : unsaid(code, typeof body === "string" ? body.trim() : "");
}

const UNSAID: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  400: ["BadRequest", "the server rejected our request for an unknown reason"],
  401: ["Unauthorized", "the server has asked for the client to provide credentials"],
  404: ["NotFound", "the server could not find the requested resource"],
  405: ["MethodNotAllowed", "the server does not allow this method on the requested resource"],
  409: ["Conflict", "the server reported a conflict"],
  422: ["Invalid", "the server rejected our request due to an error in our request"],
  429: [
    "TooManyRequests",
    "the server has received too many requests and has asked us to try again later",
  ],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
  504: [
    "Timeout",
    "the server was unable to return a response in the time allotted, but may still be processing the request",
  ],
};

function unsaid(code: number, text: string): Status {
  const [reason, message] = UNSAID[code] ?? [
    code === 403 ? "Forbidden" : code >= 500 ? "InternalError" : "Unknown",
    code >= 500
      ? `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`
      : text,
  ];
  const outcome = { status: "Failure", code, reason, message } as const;
  return { kind: "Status", apiVersion: "v1", metadata: {}, ...outcome };
}
