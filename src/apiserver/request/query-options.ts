/**
 * The options of each verb, read from the query (deletes may bring them in the body), and their
 * rules. Unknown parameters are ignored.
 */
import type { DeleteOptions } from "#api/generated/meta.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import {
  badRequestStatus,
  failure,
  invalidStatus,
  type Result,
  success,
} from "#api/meta/status.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { validateFieldManager } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import { isTrue } from "./request-info.ts";

export type FieldValidation = "Ignore" | "Warn" | "Strict";

export interface WriteOptions {
  readonly dryRun: boolean;
  /** "" when the client names none. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  readonly force: boolean;
  /** As admission sees them: the options object itself. */
  readonly raw: Readonly<Record<string, unknown>>;
}

export interface ListOptions {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly limit: number;
  readonly continueToken: string;
  readonly timeoutSeconds: number | undefined;
  readonly watch: boolean;
  readonly allowWatchBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
}

export type WriteOptionsKind = "CreateOptions" | "UpdateOptions" | "PatchOptions";

export function writeOptions(
  query: URLSearchParams,
  kind: WriteOptionsKind,
  isApply = false,
): Result<WriteOptions> {
  const dryRun = query.getAll("dryRun");
  const fieldManager = query.get("fieldManager") ?? "";
  const fieldValidation = query.get("fieldValidation") ?? "";
  const force = query.get("force");
  const errors: FieldError[] = [];
  if (kind === "PatchOptions") {
    if (isApply && fieldManager === "") {
      errors.push(required(Path.of("fieldManager"), "is required for apply patch"));
    }
    if (!isApply && force !== null) {
      errors.push(forbidden(Path.of("force"), "may not be specified for non-apply patch"));
    }
  }
  errors.push(...validateFieldManager(fieldManager, Path.of("fieldManager")));
  errors.push(...validateDryRun(dryRun));
  if (!FIELD_VALIDATIONS.includes(fieldValidation)) {
    errors.push(notSupported(Path.of("fieldValidation"), fieldValidation, FIELD_VALIDATIONS));
  }
  if (errors.length > 0) return failure(invalidStatus({ group: META, kind }, "", errors));
  return success({
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: (fieldValidation || "Warn") as FieldValidation,
    force: isTrue(force),
    raw: {
      kind,
      apiVersion: `${META}/v1`,
      ...(dryRun.length > 0 ? { dryRun } : {}),
      ...(fieldManager === "" ? {} : { fieldManager }),
      ...(fieldValidation === "" ? {} : { fieldValidation }),
      ...(force === null ? {} : { force: isTrue(force) }),
    },
  });
}

export function deleteOptionsFromQuery(query: URLSearchParams): Result<DeleteOptions> {
  const grace = integer(query, "gracePeriodSeconds");
  if (!grace.ok) return grace;
  const policy = query.get("propagationPolicy");
  const orphan = query.get("orphanDependents");
  const uid = query.get("uid");
  const resourceVersion = query.get("resourceVersion");
  const dryRun = query.getAll("dryRun");
  const preconditions = {
    ...(uid === null ? {} : { uid }),
    ...(resourceVersion === null ? {} : { resourceVersion }),
  };
  return success({
    ...(grace.value === undefined ? {} : { gracePeriodSeconds: grace.value }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    ...(orphan === null ? {} : { orphanDependents: isTrue(orphan) }),
    ...(dryRun.length === 0 ? {} : { dryRun }),
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
  });
}

export function checkDeleteOptions(options: DeleteOptions): Result<DeleteOptions> {
  const { propagationPolicy: policy, orphanDependents, dryRun } = options;
  const path = Path.of("propagationPolicy");
  const errors: FieldError[] = [];
  if (orphanDependents !== undefined && policy !== undefined) {
    const detail = "orphanDependents and deletionPropagation cannot be both set";
    errors.push(invalid(path, policy, detail));
  }
  if (policy !== undefined && !POLICIES.includes(policy)) {
    errors.push(notSupported(path, policy, [...POLICIES, "nil"]));
  }
  errors.push(...validateDryRun(dryRun ?? []));
  if (errors.length === 0) return success(options);
  return failure(invalidStatus({ group: META, kind: "DeleteOptions" }, "", errors));
}

export function listOptions(query: URLSearchParams, forceWatch = false): Result<ListOptions> {
  const limit = integer(query, "limit");
  if (!limit.ok) return limit;
  const timeoutSeconds = integer(query, "timeoutSeconds");
  if (!timeoutSeconds.ok) return timeoutSeconds;
  const initial = query.get("sendInitialEvents");
  const options = withDefaults({
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
    resourceVersion: query.get("resourceVersion") ?? "",
    resourceVersionMatch: query.get("resourceVersionMatch") ?? "",
    limit: Math.max(0, limit.value ?? 0), // less than nothing is no limit
    continueToken: query.get("continue") ?? "",
    timeoutSeconds: timeoutSeconds.value,
    watch: isTrue(query.get("watch")) || forceWatch,
    allowWatchBookmarks: isTrue(query.get("allowWatchBookmarks")),
    sendInitialEvents: initial === null ? undefined : isTrue(initial),
  });
  const errors = options.watch ? validateWatch(options) : validateList(options);
  if (errors.length === 0) return success(options);
  return failure(invalidStatus({ group: META, kind: "ListOptions" }, "", errors));
}

/** A 64-bit integer parameter. */
function integer(query: URLSearchParams, name: string): Result<number | undefined> {
  const text = query.get(name);
  if (text === null) return success(undefined);
  const number = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Math.abs(number) < INT64_LIMIT) return success(number);
  const why = Number.isNaN(number) ? "invalid syntax" : "value out of range";
  return failure(badRequestStatus(`strconv.ParseInt: parsing ${goQuote(text)}: ${why}`));
}

const INT64_LIMIT = 2 ** 63;

/** A watch that names no revision to start from begins with the state. */
function withDefaults(options: ListOptions): ListOptions {
  const { watch, sendInitialEvents, resourceVersionMatch, resourceVersion } = options;
  if (!watch || sendInitialEvents !== undefined || resourceVersionMatch !== "") return options;
  if (resourceVersion !== "" && resourceVersion !== "0") return options;
  return { ...options, sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" };
}

function validateList(options: ListOptions): FieldError[] {
  const { resourceVersionMatch: match, resourceVersion, continueToken } = options;
  const path = Path.of("resourceVersionMatch");
  const errors: FieldError[] = [];
  if (match !== "") {
    if (resourceVersion === "") {
      const detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
      errors.push(forbidden(path, detail));
    }
    if (continueToken !== "") {
      errors.push(forbidden(path, "resourceVersionMatch is forbidden when continue is provided"));
    }
    if (match !== "Exact" && match !== "NotOlderThan") {
      errors.push(notSupported(path, match, ["Exact", "NotOlderThan", ""]));
    }
    if (match === "Exact" && resourceVersion === "0") {
      const detail = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"';
      errors.push(forbidden(path, detail));
    }
  }
  if (options.sendInitialEvents !== undefined) {
    const detail = "sendInitialEvents is forbidden for list";
    errors.push(forbidden(Path.of("sendInitialEvents"), detail));
  }
  return errors;
}

function validateWatch(options: ListOptions): FieldError[] {
  const { resourceVersionMatch: match, sendInitialEvents, continueToken } = options;
  const path = Path.of("resourceVersionMatch");
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined && match !== "NotOlderThan") {
    const detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    errors.push(forbidden(path, detail));
  }
  if (match === "") return errors;
  if (sendInitialEvents === undefined) {
    const detail =
      "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
    errors.push(forbidden(path, detail));
  }
  if (match !== "NotOlderThan") errors.push(notSupported(path, match, ["NotOlderThan"]));
  if (continueToken !== "") {
    errors.push(forbidden(path, "resourceVersionMatch is forbidden when continue is provided"));
  }
  return errors;
}

function validateDryRun(dryRun: readonly string[]): FieldError[] {
  return dryRun.every((value) => value === "All")
    ? []
    : [notSupported(Path.of("dryRun"), dryRun, ["All"])];
}

const META = "meta.k8s.io";
const FIELD_VALIDATIONS: readonly string[] = ["", "Ignore", "Strict", "Warn"];
const POLICIES: readonly string[] = ["Foreground", "Background", "Orphan"];
