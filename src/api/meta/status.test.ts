import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Status } from "#api/generated/meta.v1.ts";
import { duplicate, required } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import {
  alreadyExistsStatus,
  applyConflictStatus,
  badRequestStatus,
  conflictStatus,
  expiredStatus,
  forbiddenStatus,
  generateNameConflictStatus,
  goneStatus,
  internalErrorStatus,
  invalidStatus,
  methodNotSupportedStatus,
  noSuchPathStatus,
  notAcceptableStatus,
  notFoundStatus,
  requestTooLargeStatus,
  resourceVersionTooLargeStatus,
  serverTimeoutStatus,
  serviceUnavailableStatus,
  timeoutStatus,
  tooManyRequestsStatus,
  unauthorizedStatus,
  unknownStatus,
  unprocessableStatus,
  unsupportedMediaTypeStatus,
} from "./status.ts";

const pods = { group: "", resource: "pods" };
const deployments = { group: "apps", resource: "deployments" };
const details = { name: "web", group: "apps", kind: "deployments" };
const spec = Path.of("spec");
const rejected = "the server rejected our request due to an error in our request";

describe("alreadyExistsStatus: failures", () => {
  const rows: readonly (readonly [
    status: Status,
    code: number,
    reason: string | undefined,
    message: string,
    details?: object,
  ])[] = [
    [notFoundStatus(pods, "a"), 404, "NotFound", 'pods "a" not found', { name: "a", kind: "pods" }],
    [
      alreadyExistsStatus(deployments, "web"),
      409,
      "AlreadyExists",
      'deployments.apps "web" already exists',
      details,
    ],
    [
      generateNameConflictStatus(deployments, "web", 1),
      409,
      "AlreadyExists",
      'deployments.apps "web" already exists, the server was not able to generate a unique name for the object',
      { ...details, retryAfterSeconds: 1 },
    ],
    [
      conflictStatus(deployments, "web", "the object has been modified"),
      409,
      "Conflict",
      'Operation cannot be fulfilled on deployments.apps "web": the object has been modified',
      details,
    ],
    [
      applyConflictStatus("m", [{ message: "c" }]),
      409,
      "Conflict",
      "m",
      { causes: [{ message: "c" }] },
    ],
    [
      invalidStatus({ group: "apps", kind: "Deployment" }, "web", [
        required(spec, ""),
        duplicate(spec, 1),
      ]),
      422,
      "Invalid",
      'Deployment.apps "web" is invalid: [spec: Required value, spec: Duplicate value: 1]',
      {
        name: "web",
        group: "apps",
        kind: "Deployment",
        causes: [
          { reason: "FieldValueRequired", message: "Required value", field: "spec" },
          { reason: "FieldValueDuplicate", message: "Duplicate value: 1", field: "spec" },
        ],
      },
    ],
    [
      invalidStatus({ group: "", kind: "Pod" }, "a", []),
      422,
      "Invalid",
      'Pod "a" is invalid',
      { name: "a", kind: "Pod" },
    ],
    [badRequestStatus("no"), 400, "BadRequest", "no"],
    [unauthorizedStatus(), 401, "Unauthorized", "not authorized"],
    [unauthorizedStatus("Unauthorized"), 401, "Unauthorized", "Unauthorized"],
    [
      forbiddenStatus(pods, "a", "no"),
      403,
      "Forbidden",
      'pods "a" is forbidden: no',
      { name: "a", kind: "pods" },
    ],
    [forbiddenStatus(pods, "", "no"), 403, "Forbidden", "pods is forbidden: no", { kind: "pods" }],
    [forbiddenStatus({ group: "", resource: "" }, "", "no"), 403, "Forbidden", "forbidden: no", {}],
    [
      methodNotSupportedStatus(deployments, "watch"),
      405,
      "MethodNotAllowed",
      'watch is not supported on resources of kind "deployments.apps"',
      { group: "apps", kind: "deployments" },
    ],
    [goneStatus("gone"), 410, "Gone", "gone"],
    [expiredStatus("too old resource version: 5"), 410, "Expired", "too old resource version: 5"],
    [
      tooManyRequestsStatus("later", 10),
      429,
      "TooManyRequests",
      "later",
      { retryAfterSeconds: 10 },
    ],
    [tooManyRequestsStatus("later", 0), 429, "TooManyRequests", "later", {}],
    [
      requestTooLargeStatus("limit is 5"),
      413,
      "RequestEntityTooLarge",
      "Request entity too large: limit is 5",
    ],
    [serviceUnavailableStatus("down"), 503, "ServiceUnavailable", "down"],
    [
      serverTimeoutStatus(pods, "list", 2),
      500,
      "ServerTimeout",
      "The list operation against pods could not be completed at this time, please try again.",
      { name: "list", kind: "pods", retryAfterSeconds: 2 },
    ],
    [timeoutStatus("slow"), 504, "Timeout", "Timeout: slow", {}],
    [
      resourceVersionTooLargeStatus("9", "5", 1),
      504,
      "Timeout",
      "Timeout: Too large resource version: 9, current: 5",
      {
        causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
        retryAfterSeconds: 1,
      },
    ],
    [
      internalErrorStatus("x"),
      500,
      "InternalError",
      "Internal error occurred: x",
      { causes: [{ message: "x" }] },
    ],
    [
      unsupportedMediaTypeStatus(["application/json", "application/yaml"]),
      415,
      "UnsupportedMediaType",
      "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml",
    ],
    [
      notAcceptableStatus(["a/b"]),
      406,
      "NotAcceptable",
      "only the following media types are accepted: a/b",
    ],
    [
      notAcceptableStatus(["a/b"], "T"),
      406,
      "NotAcceptable",
      "only the following media types are accepted when converting to T: a/b",
    ],
    [noSuchPathStatus(), 404, "NotFound", "the server could not find the requested resource", {}],
    [unprocessableStatus(), 422, "Invalid", rejected, {}],
    [unknownStatus("odd"), 500, undefined, "odd"],
  ];
  for (const [status, code, reason, message, wantedDetails] of rows) {
    test(`${code} ${message}`, () => {
      assert.deepEqual(status, {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message,
        ...(reason === undefined ? {} : { reason }),
        ...(wantedDetails === undefined ? {} : { details: wantedDetails }),
        code,
      });
    });
  }
});
