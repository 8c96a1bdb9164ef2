/** admission.k8s.io AdmissionReview, v1 and v1beta1: request and response of webhooks. */
import { encodeJson } from "#api/codec/json.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { isObject, type JsonObject } from "#api/patch/json-value.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import { requestFields } from "../expressions/request-fields.ts";
import type { RequestVersion } from "../matching/request-versions.ts";

export type ReviewVersion = "v1" | "v1beta1";

/** The first of a webhook's versions that is known; undefined if none is. */
export function reviewVersion(accepted: readonly string[] | null): ReviewVersion | undefined {
  return accepted?.find((one) => one === "v1" || one === "v1beta1") as ReviewVersion | undefined;
}

export function encodeReview(
  version: ReviewVersion,
  uid: string,
  request: AdmissionRequest,
  { target, object, old }: RequestVersion,
): string {
  const { dryRun, options, ...fields } = requestFields(request, target);
  return encodeJson({
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${version}`,
    request: { uid, ...fields, object: object ?? null, oldObject: old ?? null, dryRun, options },
  });
}

export interface ReviewAnswer {
  readonly allowed: boolean;
  readonly status: Status | undefined;
  /** The JSON patch, as text. */
  readonly patch: string | undefined;
  readonly patchType: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

export type ReadAnswer =
  | { readonly ok: true; readonly value: ReviewAnswer }
  | { readonly ok: false; readonly error: string };

export function readReviewAnswer(
  version: ReviewVersion,
  uid: string,
  mutating: boolean,
  answer: unknown,
): ReadAnswer {
  const review = isObject(answer) ? answer : {};
  const { response } = review;
  if (!isObject(response)) return invalid("webhook response was absent");
  const patch = typeof response.patch === "string" ? response.patch : "";
  const patchType = typeof response.patchType === "string" ? response.patchType : undefined;
  if (version === "v1") {
    const fault =
      identityFault(review, response, uid) ?? patchFault(mutating, patch !== "", patchType);
    if (fault !== undefined) return invalid(fault);
  }
  const applies = mutating && patch !== "";
  return {
    ok: true,
    value: {
      allowed: response.allowed === true,
      status: isObject(response.status) ? statusOf(response.status) : undefined,
      patch: applies ? Buffer.from(patch, "base64").toString("utf8") : undefined,
      // The old version had no other type, and did not look.
      patchType: version === "v1" ? (patchType ?? "") : "JSONPatch",
      annotations: texts(response.auditAnnotations),
      warnings: Array.isArray(response.warnings)
        ? response.warnings.filter((one) => typeof one === "string")
        : [],
    },
  };
}

/** The response must have the uid and the version of the request. */
function identityFault(
  { apiVersion, kind }: Readonly<Record<string, unknown>>,
  response: Readonly<Record<string, unknown>>,
  uid: string,
): string | undefined {
  const given = textOf(response.uid);
  if (given !== uid) return `expected response.uid=${goQuote(uid)}, got ${goQuote(given)}`;
  const said = textOf(apiVersion);
  const got = `${said.includes("/") ? said : `/${said}`}, Kind=${textOf(kind)}`;
  const wanted = "admission.k8s.io/v1, Kind=AdmissionReview";
  return got === wanted ? undefined : `expected webhook response of ${wanted}, got ${got}`;
}

function patchFault(
  mutating: boolean,
  hasPatch: boolean,
  patchType: string | undefined,
): string | undefined {
  if (!mutating) {
    if (hasPatch) return "validating webhook may not return response.patch";
    return patchType === undefined
      ? undefined
      : "validating webhook may not return response.patchType";
  }
  if (hasPatch && patchType === undefined) {
    return "webhook returned response.patch but not response.patchType";
  }
  if (!hasPatch && patchType !== undefined) {
    return "webhook returned response.patchType but not response.patch";
  }
  return patchType === "" ? 'webhook returned invalid response.patchType of ""' : undefined;
}

function invalid(error: string): ReadAnswer {
  return { ok: false, error };
}

/** Fields of other types than a Status has are left out. */
function statusOf({ status, message, reason, code, details }: JsonObject): Status {
  return {
    metadata: {},
    ...(typeof status === "string" ? { status } : {}),
    ...(typeof message === "string" ? { message } : {}),
    ...(typeof reason === "string" ? { reason } : {}),
    ...(typeof code === "number" ? { code } : {}),
    ...(isObject(details) ? { details } : {}),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function texts(value: unknown): Record<string, string> {
  if (!isObject(value)) return {};
  const entries = Object.entries(value).flatMap(([key, text]) =>
    typeof text === "string" ? [[key, text] as const] : [],
  );
  return Object.fromEntries(entries);
}
