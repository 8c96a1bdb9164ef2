/** Asks one webhook about a request. */
import type { Status } from "#api/generated/meta.v1.ts";
import { badRequestStatus } from "#api/meta/status.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Tracer } from "#lib/tracing/tracer.ts";
import type { WebhookMetrics } from "../../metrics/webhook-metrics.ts";
import type { KindRegistry } from "../../registry/kind-registry.ts";
import {
  type WebhookCall,
  type WebhookClient,
  WebhookStatusError,
} from "../../webhook/webhook-client.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import type { RequestVersion } from "../matching/request-versions.ts";
import {
  encodeReview,
  type ReviewAnswer,
  readReviewAnswer,
  reviewVersion,
} from "./admission-review.ts";
import type { Hook } from "./hooks.ts";
import type { MatchParts } from "./match-hook.ts";

export interface WebhookParts extends MatchParts {
  readonly client: WebhookClient;
  readonly resources: KindRegistry;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: WebhookMetrics;
  readonly tracer?: Tracer | undefined;
  readonly credentialsFor?: WebhookCall["credentialsFor"];
}

export type HookOutcome =
  | { readonly outcome: "allowed"; readonly answer: ReviewAnswer }
  | { readonly outcome: "denied"; readonly status: Status }
  /** The call failed, or its response is invalid: failurePolicy decides. `code` is for metrics. */
  | { readonly outcome: "failed"; readonly why: string; readonly code: number }
  /** The request is refused whatever failurePolicy says. */
  | { readonly outcome: "refused"; readonly status: Status };

const TIMEOUT_SECONDS = 10;

/** Within a span with upstream's name for the call, if the request has one. */
export async function callHook(
  hook: Hook,
  request: AdmissionRequest,
  version: RequestVersion,
  mutating: boolean,
  parts: WebhookParts,
): Promise<HookOutcome> {
  const uid = parts.random.uuid();
  const call = (): Promise<HookOutcome> => askHook(hook, request, version, mutating, uid, parts);
  const { tracer } = parts;
  if (tracer === undefined) return await call();
  const { group, version: apiVersion, resource } = request.requested.resource;
  return await tracer.child(
    {
      name: `Call ${mutating ? "mutating" : "validating"} webhook`,
      attributes: () => ({
        configuration: hook.configuration,
        webhook: hook.webhook.name,
        resource: `${group}/${apiVersion}, Resource=${resource}`,
        subresource: request.subresource,
        operation: request.operation,
        UID: uid,
      }),
    },
    call,
  );
}

async function askHook(
  { webhook }: Hook,
  request: AdmissionRequest,
  version: RequestVersion,
  mutating: boolean,
  uid: string,
  parts: WebhookParts,
): Promise<HookOutcome> {
  const { name, sideEffects, timeoutSeconds = TIMEOUT_SECONDS, clientConfig } = webhook;
  if (request.dryRun && sideEffects !== "None" && sideEffects !== "NoneOnDryRun") {
    const status = badRequestStatus(`admission webhook "${name}" does not support dry run`);
    return { outcome: "refused", status };
  }
  const accepted = reviewVersion(webhook.admissionReviewVersions);
  if (accepted === undefined) {
    const why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
    return failed(`could not create admission objects: ${why}`, 400);
  }
  let posted: unknown;
  try {
    posted = await parts.client.post({
      config: clientConfig,
      body: encodeReview(accepted, uid, request, version),
      timeoutMs: timeoutSeconds * 1000,
      signal: request.client.signal,
      ...(parts.credentialsFor === undefined ? {} : { credentialsFor: parts.credentialsFor }),
    });
  } catch (error) {
    const code = error instanceof WebhookStatusError ? error.code : 503;
    return failed(`failed to call webhook: ${messageOf(error)}`, code);
  }
  const answer = readReviewAnswer(accepted, uid, mutating, posted);
  if (!answer.ok) return failed(`received invalid webhook response: ${answer.error}`, 503);
  const { annotations, warnings, allowed, status } = answer.value;
  for (const [key, value] of Object.entries(annotations)) {
    request.annotate?.(`${name}/${key}`, value);
  }
  for (const warning of warnings) request.warn(warning);
  if (!allowed) return { outcome: "denied", status: denialOf(name, status) };
  return { outcome: "allowed", answer: answer.value };
}

/** How failures read, in logs and in refusals. */
export function callFault({ webhook }: Hook, why: string): string {
  return `failed calling webhook "${webhook.name}": ${why}`;
}

function failed(why: string, code: number): HookOutcome {
  return { outcome: "failed", why, code };
}

/** The webhook's own Status, made a failure. */
function denialOf(name: string, given: Status | undefined): Status {
  const { message = "", reason = "", code = 0, status = "" } = given ?? {};
  const by = `admission webhook "${name}" denied the request`;
  const why = message || reason;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    ...given,
    status: status === "" || status === "Success" ? "Failure" : status,
    message: why === "" ? `${by} without explanation` : `${by}: ${why}`,
    code: Math.max(Math.trunc(Number(code)) || 0, 400),
  };
}
