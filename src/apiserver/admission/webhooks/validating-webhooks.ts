/**
 * The plug-in ValidatingAdmissionWebhook: calls all webhooks that match a request at the same time. The
 * first in the order of the configurations that denies is the answer.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import { validatingWebhookConfigurationKind } from "#api/kinds/admissionregistration/v1/webhook-configurations.ts";
import { internalErrorStatus } from "#api/meta/status.ts";
import { CompiledObjects } from "../compiled-objects.ts";
import { isExemptFromWebhooks } from "../exempt-requests.ts";
import { type RequestVersion, RequestVersions } from "../matching/request-versions.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { callFault, callHook, type WebhookParts } from "./call-hook.ts";
import { compileHooks, type Hook } from "./hooks.ts";
import { matchHook } from "./match-hook.ts";

const FAILED_OPEN = "failed-open.validating.webhook.admission.k8s.io/";

export function validatingAdmissionWebhooks(
  parts: WebhookParts,
  signal: AbortSignal,
): AdmissionPlugin {
  const kind = validatingWebhookConfigurationKind;
  const configurations = new CompiledObjects(parts.objects, kind, compileHooks, signal);
  return {
    name: "ValidatingAdmissionWebhook",
    validate(request) {
      const all = configurations.all();
      if (all.length === 0 || isExemptFromWebhooks(request)) return undefined;
      return callAll(all.flat(), new RequestVersions(request, parts.resources), parts);
    },
  };
}

async function callAll(
  hooks: readonly Hook[],
  versions: RequestVersions,
  parts: WebhookParts,
): Promise<Status | undefined> {
  const calls: { readonly hook: Hook; readonly version: RequestVersion }[] = [];
  for (const hook of hooks) {
    const match = await matchHook(hook, versions, "validate", parts);
    if (!match.ok) return match.status;
    if (match.value !== undefined) calls.push({ hook, version: match.value });
  }
  const refusals = await Promise.all(
    calls.map(({ hook, version }, index) => ask(hook, version, index, versions, parts)),
  );
  return refusals.find((refusal) => refusal !== undefined);
}

async function ask(
  hook: Hook,
  version: RequestVersion,
  index: number,
  { request }: RequestVersions,
  parts: WebhookParts,
): Promise<Status | undefined> {
  const { metrics, clock, logger } = parts;
  const { operation } = request;
  const place = { name: hook.webhook.name, type: "validating", operation } as const;
  const startMs = clock.elapsedMs();
  const result = await callHook(hook, request, version, false, parts);
  const observe = (code: number, rejected: boolean): void =>
    metrics.called(place, (clock.elapsedMs() - startMs) / 1000, code, rejected);
  switch (result.outcome) {
    case "allowed":
      observe(200, false);
      return undefined;
    case "denied":
      metrics.rejected(place, "no_error", result.status.code ?? 0);
      observe(result.status.code ?? 0, true);
      return result.status;
    case "refused":
      metrics.rejected(place, "apiserver_internal_error", 0);
      observe(0, true);
      return result.status;
    case "failed": {
      const fault = callFault(hook, result.why);
      observe(result.code, !hook.failsOpen);
      if (!hook.failsOpen) {
        metrics.rejected(place, "calling_webhook_error", result.code);
        logger.warn("Failed calling webhook, failing closed", { webhook: place.name, fault });
        return internalErrorStatus(fault);
      }
      metrics.failedOpen(place);
      logger.warn("Failed calling webhook, failing open", { webhook: place.name, fault });
      request.annotate?.(`${FAILED_OPEN}round_0_index_${index}`, place.name);
      return undefined;
    }
  }
}
