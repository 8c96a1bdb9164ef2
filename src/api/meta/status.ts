/**
 * How the API says that something went wrong: the Status object, the closed set of reasons, and one
 * constructor per kind of failure. Messages, codes and details are a contract with every client.
 */
import type { Status, StatusCause, StatusDetails } from "#api/generated/meta.v1.ts";
import type { FieldError } from "#api/validation/field-error.ts";
import { formatFieldError, formatFieldErrors } from "#api/validation/format-field-error.ts";
import { goQuote } from "./go-quote.ts";

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

/** What most messages are about; `group` is "" for the core group. */
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

/** `deployments.apps`, `pods`. */
function groupResourceText({ group, resource }: GroupResource): string {
  return group === "" ? resource : `${resource}.${group}`;
}

export function notFoundStatus(resource: GroupResource, name: string): Status {
  const message = `${groupResourceText(resource)} ${goQuote(name)} not found`;
  return failed(404, "NotFound", message, detailsOf(resource, name));
}

export function alreadyExistsStatus(resource: GroupResource, name: string): Status {
  const message = `${groupResourceText(resource)} ${goQuote(name)} already exists`;
  return failed(409, "AlreadyExists", message, detailsOf(resource, name));
}

/** Every try to generate a name hit one that exists. */
export function generateNameConflictStatus(
  resource: GroupResource,
  name: string,
  retryAfterSeconds: number,
): Status {
  const message =
    `${groupResourceText(resource)} ${goQuote(name)} already exists, ` +
    "the server was not able to generate a unique name for the object";
  const details = { ...detailsOf(resource, name), ...retryAfter(retryAfterSeconds) };
  return failed(409, "AlreadyExists", message, details);
}

export function conflictStatus(resource: GroupResource, name: string, why: string): Status {
  const subject = `${groupResourceText(resource)} ${goQuote(name)}`;
  const message = `Operation cannot be fulfilled on ${subject}: ${why}`;
  return failed(409, "Conflict", message, detailsOf(resource, name));
}

/** Server-side apply met fields that others own. */
export function applyConflictStatus(message: string, causes: readonly StatusCause[]): Status {
  return failed(409, "Conflict", message, { causes });
}

/** Limit of reported field errors: the response would be longer than the object. */
export const FIELD_ERRORS_MAX = 1_000;

export function invalidStatus(
  { group, kind }: GroupKind,
  name: string,
  all: readonly FieldError[],
): Status {
  const errors = all.length > FIELD_ERRORS_MAX ? all.slice(0, FIELD_ERRORS_MAX) : all;
  const subject = `${group === "" ? kind : `${kind}.${group}`} ${goQuote(name)} is invalid`;
  const message = errors.length === 0 ? subject : `${subject}: ${formatFieldErrors(errors)}`;
  const causes = errors.map((error) => ({
    reason: error.type,
    message: formatFieldError(error),
    field: error.field,
  }));
  const details = {
    ...detailsOf({ group, resource: kind }, name),
    ...(causes.length > 0 ? { causes } : {}),
  };
  return failed(422, "Invalid", message, details);
}

export function badRequestStatus(message: string): Status {
  return failed(400, "BadRequest", message);
}

export function unauthorizedStatus(message = "not authorized"): Status {
  return failed(401, "Unauthorized", message);
}

/** The resource may be empty (paths that are none), and the name (creates, lists). */
export function forbiddenStatus(resource: GroupResource, name: string, why: string): Status {
  const subject = groupResourceText(resource);
  const what = subject === "" ? "" : `${subject}${name === "" ? "" : ` ${goQuote(name)}`} is `;
  return failed(403, "Forbidden", `${what}forbidden: ${why}`, detailsOf(resource, name));
}

export function methodNotSupportedStatus(resource: GroupResource, action: string): Status {
  const kind = goQuote(groupResourceText(resource));
  const message = `${action} is not supported on resources of kind ${kind}`;
  return failed(405, "MethodNotAllowed", message, detailsOf(resource, ""));
}

export function goneStatus(message: string): Status {
  return failed(410, "Gone", message);
}

/** A resource version or continue token that is too old. */
export function expiredStatus(message: string): Status {
  return failed(410, "Expired", message);
}

export function tooManyRequestsStatus(message: string, retryAfterSeconds: number): Status {
  return failed(429, "TooManyRequests", message, retryAfter(retryAfterSeconds));
}

export function requestTooLargeStatus(why: string): Status {
  return failed(413, "RequestEntityTooLarge", `Request entity too large: ${why}`);
}

export function serviceUnavailableStatus(message: string): Status {
  return failed(503, "ServiceUnavailable", message);
}

/** The operation may still succeed later; `operation` is a verb. */
export function serverTimeoutStatus(
  resource: GroupResource,
  operation: string,
  retryAfterSeconds: number,
): Status {
  const message =
    `The ${operation} operation against ${groupResourceText(resource)} could not be completed ` +
    "at this time, please try again.";
  const details = { ...detailsOf(resource, operation), ...retryAfter(retryAfterSeconds) };
  return failed(500, "ServerTimeout", message, details);
}

export function timeoutStatus(why: string, retryAfterSeconds = 0): Status {
  return failed(504, "Timeout", `Timeout: ${why}`, retryAfter(retryAfterSeconds));
}

/** A read asked for a revision that the server has not seen yet. */
export function resourceVersionTooLargeStatus(
  asked: string,
  current: string,
  retryAfterSeconds: number,
): Status {
  const message = `Timeout: Too large resource version: ${asked}, current: ${current}`;
  const cause = { reason: "ResourceVersionTooLarge", message: "Too large resource version" };
  return failed(504, "Timeout", message, { causes: [cause], ...retryAfter(retryAfterSeconds) });
}

export function internalErrorStatus(why: string): Status {
  const details = { causes: [{ message: why }] };
  return failed(500, "InternalError", `Internal error occurred: ${why}`, details);
}

export function unsupportedMediaTypeStatus(accepted: readonly string[]): Status {
  const message =
    "the body of the request was in an unknown format - accepted media types include: " +
    accepted.join(", ");
  return failed(415, "UnsupportedMediaType", message);
}

/** `target`: the kind that the client asked the answer to be converted to, if any. */
export function notAcceptableStatus(accepted: readonly string[], target?: string): Status {
  const when = target === undefined ? "" : ` when converting to ${target}`;
  const message = `only the following media types are accepted${when}: ${accepted.join(", ")}`;
  return failed(406, "NotAcceptable", message);
}

/** A path that nothing serves. */
export function noSuchPathStatus(): Status {
  return failed(404, "NotFound", "the server could not find the requested resource", {});
}

/** A patch that is well formed but cannot be carried out; the reason does not reach the client. */
export function unprocessableStatus(): Status {
  const message = "the server rejected our request due to an error in our request";
  return failed(422, "Invalid", message, {});
}

/** A failure without a reason of its own. */
export function unknownStatus(message: string, code = 500): Status {
  return failed(code, undefined, message);
}

/** What a code means where no Status came with it, in the words that clients know. */
export const SERVER_RESPONSES: Readonly<Record<number, readonly [Reason, string]>> = {
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

/** The Status for another server's refusal; `text` is its body. */
export function serverResponseStatus(
  code: number,
  resource: GroupResource,
  name: string,
  text: string,
): Status {
  const [reason, message] = SERVER_RESPONSES[code] ?? serverResponse(code, text);
  const subject = ` ( ${groupResourceText(resource)} ${name})`;
  return failed(code, reason, message + subject, detailsOf(resource, name));
}

function serverResponse(code: number, text: string): readonly [Reason | undefined, string] {
  if (code === 403) return ["Forbidden", text];
  if (code < 500) {
    const message = `the server responded with the status code ${code} but did not return more information`;
    return [undefined, message];
  }
  const message = `an error on the server (${goQuote(text)}) has prevented the request from succeeding`;
  return ["InternalError", message];
}

function failed(
  code: number,
  reason: Reason | undefined,
  message: string,
  details?: StatusDetails,
): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  };
}

function detailsOf({ group, resource }: GroupResource, name: string): StatusDetails {
  return {
    ...(name === "" ? {} : { name }),
    ...(group === "" ? {} : { group }),
    ...(resource === "" ? {} : { kind: resource }),
  };
}

function retryAfter(seconds: number): StatusDetails {
  return seconds === 0 ? {} : { retryAfterSeconds: seconds };
}
