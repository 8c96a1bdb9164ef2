/** A webhook that decides on access, as the authorization configuration describes it. */

import { type AccessCondition, compileAccessCondition } from "#api/expressions/access-review.ts";
import { expressionError } from "#api/expressions.ts";
import { parseDuration } from "#api/meta/duration.ts";
import {
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
  tooMany,
} from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { BOOL, DURATION, listOf, STRING, struct } from "../config/config-file.ts";

export interface ConfiguredWebhook {
  readonly name: string;
  readonly kubeconfig: string;
  readonly timeoutMs: number;
  /** 0: not kept. */
  readonly allowedMs: number;
  readonly refusedMs: number;
  readonly version: "v1" | "v1beta1";
  readonly onFailure: "noOpinion" | "deny";
  readonly conditions: readonly AccessCondition[];
}

/** What is wrong with a file that the configuration names. */
export type FileFault = (file: string) => string | undefined;

export interface WebhookEntry {
  readonly timeout?: string;
  readonly authorizedTTL?: string;
  readonly unauthorizedTTL?: string;
  readonly cacheAuthorizedRequests?: boolean;
  readonly cacheUnauthorizedRequests?: boolean;
  readonly subjectAccessReviewVersion?: string;
  readonly matchConditionSubjectAccessReviewVersion?: string;
  readonly failurePolicy?: string;
  readonly connectionInfo?: { readonly type?: string; readonly kubeConfigFile?: string };
  readonly matchConditions?: readonly { readonly expression?: string }[];
}

export const WEBHOOK_SCHEMA = struct("v1.WebhookConfiguration", {
  authorizedTTL: DURATION,
  cacheAuthorizedRequests: { optional: BOOL },
  unauthorizedTTL: DURATION,
  cacheUnauthorizedRequests: { optional: BOOL },
  timeout: DURATION,
  subjectAccessReviewVersion: STRING,
  matchConditionSubjectAccessReviewVersion: STRING,
  failurePolicy: STRING,
  connectionInfo: struct("v1.WebhookConnectionInfo", {
    type: STRING,
    kubeConfigFile: { optional: STRING },
  }),
  matchConditions: listOf(struct("v1.WebhookMatchCondition", { expression: STRING })),
});

const TIMEOUT_MS_MAX = 30_000;
const DEFAULT_ALLOWED = "5m0s";
const DEFAULT_REFUSED = "30s";
const CONDITIONS_MAX = 64;

/** What is wrong goes to `faults`; then the webhook cannot be used. */
export function readWebhook(
  name: string,
  webhook: WebhookEntry,
  path: Path,
  fileFault: FileFault,
  faults: FieldError[],
): ConfiguredWebhook {
  const { cacheAuthorizedRequests = true, cacheUnauthorizedRequests = true } = webhook;
  const { subjectAccessReviewVersion: version = "", failurePolicy = "" } = webhook;
  const { matchConditions = [], matchConditionSubjectAccessReviewVersion: matched = "" } = webhook;
  const timeoutMs = timeoutOf(webhook.timeout ?? "0s", path.child("timeout"), faults);
  const allowedMs = keptMs(webhook.authorizedTTL, DEFAULT_ALLOWED, path, "authorizedTTL", faults);
  const refusedMs = keptMs(
    webhook.unauthorizedTTL,
    DEFAULT_REFUSED,
    path,
    "unauthorizedTTL",
    faults,
  );
  faults.push(...oneOf(path.child("subjectAccessReviewVersion"), version, ["v1", "v1beta1"]));
  const at = path.child("matchConditionSubjectAccessReviewVersion");
  if (matched !== "") faults.push(...oneOf(at, matched, ["v1"]));
  else if (matchConditions.length > 0) {
    faults.push(required(at, "required if match conditions are specified"));
  }
  faults.push(
    ...oneOf(path.child("failurePolicy"), failurePolicy, ["NoOpinion", "Deny"]),
    ...connectionFaults(webhook, path.child("connectionInfo"), fileFault),
  );
  return {
    name,
    kubeconfig: webhook.connectionInfo?.kubeConfigFile ?? "",
    timeoutMs,
    allowedMs: cacheAuthorizedRequests ? allowedMs : 0,
    refusedMs: cacheUnauthorizedRequests ? refusedMs : 0,
    version: version === "v1" ? "v1" : "v1beta1",
    onFailure: failurePolicy === "Deny" ? "deny" : "noOpinion",
    conditions: readConditions(matchConditions, path.child("matchConditions"), faults),
  };
}

function timeoutOf(text: string, at: Path, faults: FieldError[]): number {
  const ms = msOf(text);
  if (ms === 0) faults.push(required(at, ""));
  else if (!(ms > 0 && ms <= TIMEOUT_MS_MAX)) {
    faults.push(invalid(at, text, "must be > 0s and <= 30s"));
  }
  return ms;
}

function keptMs(
  text = "0s",
  otherwise: string,
  path: Path,
  name: string,
  faults: FieldError[],
): number {
  const ms = msOf(text) || msOf(otherwise);
  if (ms < 0) faults.push(invalid(path.child(name), text, "must be > 0s"));
  return ms;
}

function connectionFaults(
  { connectionInfo = {} }: WebhookEntry,
  path: Path,
  fileFault: FileFault,
): FieldError[] {
  const faults = oneOf(path.child("type"), connectionInfo.type ?? "", ["KubeConfigFile"]);
  if (faults.length > 0) return faults;
  const { kubeConfigFile: file = "" } = connectionInfo;
  const at = path.child("kubeConfigFile");
  if (file === "") return [required(at, "")];
  if (!file.startsWith("/")) return [invalid(at, file, "must be an absolute path")];
  const wrong = fileFault(file);
  return wrong === undefined ? [] : [invalid(at, file, wrong)];
}

function readConditions(
  conditions: readonly { readonly expression?: string }[],
  path: Path,
  faults: FieldError[],
): AccessCondition[] {
  if (conditions.length > CONDITIONS_MAX) {
    faults.push(tooMany(path, conditions.length, CONDITIONS_MAX));
    return [];
  }
  const seen = new Set<string>();
  return conditions.flatMap(({ expression = "" }, index) => {
    const at = path.index(index).child("expression");
    if (expression.trim() === "" || seen.has(expression)) {
      faults.push(seen.has(expression) ? duplicate(at, expression) : required(at, ""));
      return [];
    }
    seen.add(expression);
    const compiled = compileAccessCondition(expression);
    if (compiled.ok) return [compiled.value];
    faults.push(...expressionError(at, expression, compiled.fault));
    return [];
  });
}

function oneOf(path: Path, value: string, allowed: readonly string[]): FieldError[] {
  if (value === "") return [required(path, "")];
  return allowed.includes(value) ? [] : [notSupported(path, value, allowed)];
}

function msOf(text: string): number {
  const parsed = parseDuration(text);
  return parsed.ok ? Number(parsed.nanos) / 1e6 : Number.NaN;
}
