/** Whether a webhook is to be called about a request, and in which version of it. */
import type { Status } from "#api/generated/meta.v1.ts";
import { failure, type Result, success } from "#api/meta/status.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Authorizer } from "../../authz/authorizer.ts";
import type { PolicyMetrics } from "../../metrics/policy-metrics.ts";
import type { Objects } from "../../storage/objects.ts";
import { expressionAuthorizer, untilAnswered } from "../expressions/expression-authorizer.ts";
import { evaluateConditions } from "../expressions/match-conditions.ts";
import { requestInputs } from "../expressions/request-inputs.ts";
import { matchRequest } from "../matching/match-request.ts";
import type { RequestVersion, RequestVersions } from "../matching/request-versions.ts";
import { refuse } from "../refuse.ts";
import type { Hook } from "./hooks.ts";

export interface MatchParts {
  readonly objects: Objects;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly conditionMetrics: PolicyMetrics;
}

/** Undefined: it is not called. A Status refuses the request. */
export async function matchHook(
  hook: Hook,
  versions: RequestVersions,
  step: "admit" | "validate",
  parts: MatchParts,
): Promise<Result<RequestVersion | undefined>> {
  const match = matchRequest(hook.match, versions, parts.objects, false);
  if (match.matches === false) return success(undefined);
  if (match.matches === "unknown") return failure(match.status);
  const version = await versions.as(match.target);
  if (!version.ok || hook.conditions.length === 0) return version;
  const refusal = await conditionsRefusal(hook, version.value, versions, step, parts);
  if (refusal === "excluded") return success(undefined);
  return refusal === undefined ? version : failure(refusal);
}

async function conditionsRefusal(
  hook: Hook,
  version: RequestVersion,
  { request }: RequestVersions,
  step: "admit" | "validate",
  { authorizer, clock, conditionMetrics }: MatchParts,
): Promise<Status | "excluded" | undefined> {
  const { webhook, conditions, failsOpen } = hook;
  const { operation } = request;
  const place = { name: webhook.name, kind: "webhook", type: step, operation } as const;
  const startMs = clock.elapsedMs();
  const asked = expressionAuthorizer(authorizer, request.user);
  const inputs = requestInputs(request, version, { authorizer: asked });
  const result = await untilAnswered(() => evaluateConditions(conditions, inputs));
  const seconds = (clock.elapsedMs() - startMs) / 1000;
  conditionMetrics.conditions(place, seconds, result.errorCount);
  if (result.outcome === "yes") return undefined;
  // A condition that cannot be evaluated refuses, or leaves the webhook out, by its failurePolicy.
  if (result.outcome === "fault" && !failsOpen) return refuse(request, result.fault);
  conditionMetrics.excluded(place);
  return "excluded";
}
