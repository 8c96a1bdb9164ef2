/**
 * The Status of a response that is no success. Proxies, and paths that are not served, respond with
 * plain text, which becomes a Status with the texts of client-go.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import { SERVER_RESPONSES } from "#api/meta/status.ts";

export function statusFrom(code: number, body: unknown): Status {
  const isStatus = typeof body === "object" && body !== null && (body as Status).kind === "Status";
  return isStatus ? (body as Status) : unsaid(code, typeof body === "string" ? body.trim() : "");
}

const BAD_REQUEST = [
  "BadRequest",
  "the server rejected our request for an unknown reason",
] as const;

function unsaid(code: number, text: string): Status {
  const known = code === 400 ? BAD_REQUEST : SERVER_RESPONSES[code];
  const [reason, message] = known ?? [
    code === 403 ? "Forbidden" : code >= 500 ? "InternalError" : "Unknown",
    code >= 500
      ? `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`
      : text,
  ];
  const outcome = { status: "Failure", code, reason, message } as const;
  return { kind: "Status", apiVersion: "v1", metadata: {}, ...outcome };
}
