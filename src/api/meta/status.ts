/** How the API says that something went wrong: the Status object and the closed set of reasons. */
import type { Status } from "#api/generated/meta.v1.ts";

export type Reason =
  | "Unknown"
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Invalid"
  | "ServerTimeout"
  | "StoreReadError"
  | "Timeout"
  | "TooManyRequests"
  | "BadRequest"
  | "MethodNotAllowed"
  | "NotAcceptable"
  | "RequestEntityTooLarge"
  | "UnsupportedMediaType"
  | "InternalError"
  | "Expired"
  | "ServiceUnavailable";

/** Failure as a value: everything that answers a request returns one of these. */
export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly status: Status };

export function success<T>(value: T): Result<T> {
  return { ok: true, value };
}

export function failure(status: Status): { readonly ok: false; readonly status: Status } {
  return { ok: false, status };
}
