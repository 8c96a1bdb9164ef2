/**
 * The plug-in MutatingAdmissionWebhook: calls the webhooks that match a request one after the other, each
 * with the object as those before it left it.
 */
import { encodeJson, parseJson } from "#api/codec/json.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { mutatingWebhookConfigurationKind } from "#api/kinds/admissionregistration/v1/webhook-configurations.ts";
import { membersOf } from "#api/members.ts";
import { failure, internalErrorStatus, type Result, success } from "#api/meta/status.ts";
import { applyJsonPatch, jsonPatchOperations } from "#api/patch/json-patch.ts";
import { type JsonObject, jsonEqual } from "#api/patch/json-value.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import { CompiledObjects } from "../compiled-objects.ts";
import { isExemptFromWebhooks } from "../exempt-requests.ts";
import { type RequestVersion, RequestVersions } from "../matching/request-versions.ts";
import { mutatedObject } from "../mutated-object.ts";
import type { AdmissionPlugin, AdmitVerdict } from "../plugin.ts";
import { Reinvocation, type ReinvocationMemory } from "../reinvocation.ts";
import { callFault, callHook, type HookOutcome, type WebhookParts } from "./call-hook.ts";
import { compileHooks, type Hook } from "./hooks.ts";
import { matchHook } from "./match-hook.ts";

const NAME = "MutatingAdmissionWebhook";
const MUTATION = "mutation.webhook.admission.k8s.io/";
const PATCH = "patch.webhook.admission.k8s.io/";
const FAILED_OPEN = `failed-open.${MUTATION}`;

export function mutatingAdmissionWebhooks(
  parts: WebhookParts,
  signal: AbortSignal,
): AdmissionPlugin {
  const kind = mutatingWebhookConfigurationKind;
  const configurations = new CompiledObjects(parts.objects, kind, compileHooks, signal);
  return {
    name: NAME,
    admit(request, { reinvocation }) {
      const all = configurations.all();
      if (all.length === 0 || isExemptFromWebhooks(request)) return undefined;
      const memory = reinvocation?.get(NAME) as ReinvocationMemory | undefined;
      // In the second pass nothing is called that was not called in the first.
      if (reinvocation !== undefined && memory === undefined) return undefined;
      return new Dispatch(parts, request, memory).run(all.flat());
    },
  };
}

/** All webhooks on one request, in one pass. */
class Dispatch {
  readonly #parts: WebhookParts;
  readonly #given: AdmissionRequest;
  readonly #reinvocation: Reinvocation;
  /** With the object as the webhooks so far have left it. */
  #versions: RequestVersions;

  constructor(
    parts: WebhookParts,
    request: AdmissionRequest,
    memory: ReinvocationMemory | undefined,
  ) {
    this.#parts = parts;
    this.#given = request;
    this.#versions = new RequestVersions(request, parts.resources);
    this.#reinvocation = new Reinvocation(memory, request.object);
  }

  async run(hooks: readonly Hook[]): Promise<AdmitVerdict> {
    for (const [index, hook] of hooks.entries()) {
      const match = await matchHook(hook, this.#versions, "admit", this.#parts);
      if (!match.ok) return match;
      if (match.value === undefined || !this.#reinvocation.isDue(hook.uid)) continue;
      const refusal = await this.#call(hook, match.value, index);
      if (refusal !== undefined) return failure(refusal);
    }
    const { object } = this.#versions.request;
    if (object === undefined) return undefined;
    const reinvoke = this.#reinvocation.hasChanged;
    return { ok: true, value: object, reinvoke, memory: this.#reinvocation.memory(object) };
  }

  async #call(hook: Hook, version: RequestVersion, index: number): Promise<Status | undefined> {
    const { clock } = this.#parts;
    const { request } = this.#versions;
    const startMs = clock.elapsedMs();
    const called = await callHook(hook, request, version, true, this.#parts);
    const patched =
      called.outcome === "allowed" ? await this.#patch(hook, version, called, index) : called;
    const changed = patched.outcome === "changed";
    this.#annotate(MUTATION, index, {
      configuration: hook.configuration,
      webhook: hook.webhook.name,
      mutated: changed,
    });
    const reinvocable = hook.webhook.reinvocationPolicy === "IfNeeded";
    this.#reinvocation.wasCalled(hook.uid, changed, reinvocable);
    return this.#conclude(hook, patched, (clock.elapsedMs() - startMs) / 1000, index);
  }

  #conclude(hook: Hook, result: Patched, seconds: number, index: number): Status | undefined {
    const { metrics, logger } = this.#parts;
    const { operation } = this.#given;
    const place = { name: hook.webhook.name, type: "admit", operation } as const;
    switch (result.outcome) {
      case "changed":
      case "unchanged":
        metrics.called(place, seconds, 200, false);
        return undefined;
      case "denied":
        metrics.rejected(place, "no_error", result.status.code ?? 0);
        metrics.called(place, seconds, result.status.code ?? 0, true);
        return result.status;
      case "refused":
        metrics.rejected(place, "apiserver_internal_error", 0);
        metrics.called(place, seconds, 0, true);
        return result.status;
      case "failed": {
        const fault = callFault(hook, result.why);
        metrics.called(place, seconds, result.code, !hook.failsOpen);
        if (!hook.failsOpen) {
          metrics.rejected(place, "calling_webhook_error", result.code);
          logger.warn("Failed calling webhook, failing closed", { webhook: place.name, fault });
          return internalErrorStatus(fault);
        }
        metrics.failedOpen(place);
        logger.warn("Failed calling webhook, failing open", { webhook: place.name, fault });
        this.#given.annotate?.(`${FAILED_OPEN}${this.#round(index)}`, place.name);
        return undefined;
      }
    }
  }

  /** Applies the webhook's patch to the object. */
  async #patch(
    hook: Hook,
    version: RequestVersion,
    { answer }: Extract<HookOutcome, { readonly outcome: "allowed" }>,
    index: number,
  ): Promise<Patched> {
    const { name } = hook.webhook;
    if (answer.patch === undefined) return UNCHANGED;
    const operations = readPatch(answer.patch);
    if (!operations.ok) {
      const why = `received undecodable patch in webhook response: ${operations.error}`;
      return { outcome: "failed", why, code: 503 };
    }
    if (operations.value.length === 0) return UNCHANGED;
    if (version.object === undefined) {
      return refused(
        `admission webhook "${name}" attempted to modify the object, which is not supported for this operation`,
      );
    }
    if (answer.patchType !== "JSONPatch") {
      const why = `unsupported patch type "${answer.patchType}"`;
      return { outcome: "failed", why, code: 400 };
    }
    const next = await this.#patched(version, version.object, operations.value);
    if (!next.ok) return { outcome: "refused", status: next.status };
    this.#annotate(
      PATCH,
      index,
      {
        configuration: hook.configuration,
        webhook: name,
        patch: operations.value,
        patchType: "JSONPatch",
      },
      "Request",
    );
    const before = this.#versions.request.object;
    const request = { ...this.#versions.request, object: next.value };
    this.#versions = new RequestVersions(request, this.#parts.resources);
    return jsonEqual(before, next.value) ? UNCHANGED : { outcome: "changed" };
  }

  async #patched(
    version: RequestVersion,
    object: KubeObject,
    operations: readonly JsonObject[],
  ): Promise<Result<KubeObject>> {
    const patched = applyJsonPatch(membersOf(object), operations);
    if (!patched.ok) return failure(internalErrorStatus(patched.error));
    const mutated = mutatedObject(patched.value, version);
    if (!mutated.ok) return failure(internalErrorStatus(mutated.error));
    const stored = await this.#versions.toStored(version, mutated.value);
    return stored.ok ? success(stored.value) : stored;
  }

  #annotate(prefix: string, index: number, value: object, level?: "Request"): void {
    this.#given.annotate?.(`${prefix}${this.#round(index)}`, encodeJson(value), level);
  }

  #round(index: number): string {
    return `round_${this.#reinvocation.isSecondPass ? 1 : 0}_index_${index}`;
  }
}

type Patched =
  | { readonly outcome: "changed" | "unchanged" }
  | Exclude<HookOutcome, { readonly outcome: "allowed" }>;

const UNCHANGED: Patched = { outcome: "unchanged" };

function refused(why: string): Patched {
  return { outcome: "refused", status: internalErrorStatus(why) };
}

function readPatch(
  text: string,
): { readonly ok: true; readonly value: readonly JsonObject[] } | { ok: false; error: string } {
  const parsed = parseJson(text);
  if (!parsed.ok) return parsed;
  const operations = jsonPatchOperations(parsed.value);
  if (operations.ok) return operations;
  return { ok: false, error: operations.status.message ?? "" };
}
