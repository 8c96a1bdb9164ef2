/**
 * ImagePolicyWebhook: a webhook decides whether a pod's images may run. Its decisions are cached; when
 * it cannot be reached, pods are allowed or refused as configured (defaultAllow).
 */

import type { Pod } from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import { ExpiringCache } from "../../webhook/expiring-cache.ts";
import type { AskWebhook } from "../../webhook/webhook.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { objectOfKind } from "../requests.ts";

/** A webhook by its kubeconfig file, asked again first after so long. */
export type OpenWebhook = (kubeconfig: string, firstRetryMs: number) => AskWebhook;

interface Options {
  readonly ask: AskWebhook;
  readonly allowedMs: number;
  readonly refusedMs: number;
  readonly allowsUnasked: boolean;
  readonly clock: Pick<Clock, "elapsedMs">;
}

interface ReviewStatus {
  readonly allowed?: boolean;
  readonly reason?: string;
  readonly auditAnnotations?: Readonly<Record<string, string>>;
}

const NAME = "ImagePolicyWebhook";
const NOTES = "imagepolicywebhook.image-policy.k8s.io/";
const FAILED_OPEN = "alpha.image-policy.k8s.io/failed-open";
const CACHED_MAX = 1024;

/** Throws when the configuration is none. */
export function imagePolicyWebhook(
  configuration: unknown,
  clock: Pick<Clock, "elapsedMs">,
  openWebhook: OpenWebhook | undefined,
): AdmissionPlugin {
  if (configuration === undefined || openWebhook === undefined)
    throw new Error("no config specified");
  const { imagePolicy: given = {} } = configuration as { imagePolicy?: Given };
  const retryMs = msOf(given.retryBackoff, 1, RETRY);
  const options: Options = {
    allowedMs: msOf(given.allowTTL, 1000, ALLOWED),
    refusedMs: msOf(given.denyTTL, 1000, REFUSED),
    ask: openWebhook(given.kubeConfigFile ?? "", retryMs),
    allowsUnasked: given.defaultAllow ?? false,
    clock,
  };
  const cache = new ExpiringCache<ReviewStatus>(clock, CACHED_MAX);
  return {
    name: NAME,
    operations: ["CREATE", "UPDATE"],
    validate(request) {
      const pod =
        objectOfKind(request, podKind, ["CREATE", "UPDATE"]) ??
        objectOfKind(request, podKind, ["UPDATE"], "ephemeralcontainers");
      return pod === undefined ? undefined : review(request, pod, options, cache);
    },
  };
}

interface Given {
  readonly kubeConfigFile?: string;
  readonly allowTTL?: number;
  readonly denyTTL?: number;
  readonly retryBackoff?: number;
  readonly defaultAllow?: boolean;
}

interface Range {
  readonly otherwiseMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly text: string;
}

const LIFE = { minMs: 1000, maxMs: 30 * 60_000, text: "1s and 30m0s" };
const ALLOWED: Range = { ...LIFE, otherwiseMs: 5 * 60_000 };
const REFUSED: Range = { ...LIFE, otherwiseMs: 30_000 };
const RETRY: Range = { otherwiseMs: 500, minMs: 1e-6, maxMs: 5 * 60_000, text: "1ns and 5m0s" };

/** 0 stands for what is usual, -1 for not at all. */
function msOf(value = 0, unitMs: number, { otherwiseMs, minMs, maxMs, text }: Range): number {
  if (value === -1) return 0;
  if (value === 0) return otherwiseMs;
  const ms = value * unitMs;
  if (ms >= minMs && ms <= maxMs) return ms;
  throw new Error(`valid value is between ${text}, got ${ms / 1000}s`);
}

async function review(
  request: AdmissionRequest,
  pod: Pod,
  { ask, allowedMs, refusedMs, allowsUnasked }: Options,
  cache: ExpiringCache<ReviewStatus>,
) {
  const question = {
    kind: "ImageReview",
    apiVersion: "imagepolicy.k8s.io/v1alpha1",
    metadata: {},
    spec: specOf(request, pod),
    status: { allowed: false },
  };
  const key = JSON.stringify(question.spec);
  let status = cache.get(key);
  if (status === undefined) {
    try {
      status = ((await ask(question)) as { status?: ReviewStatus } | undefined)?.status ?? {};
    } catch (error) {
      if (!allowsUnasked) return refuse(request, messageOf(error));
      request.annotate?.(`${NOTES}failed-open`, "true");
      // The one change that validating admission makes: upstream notes and stores it here, too.
      const { metadata } = pod as Draft<Pod>;
      metadata.annotations = { ...metadata.annotations, [FAILED_OPEN]: "true" };
      return undefined;
    }
    cache.set(key, status, status.allowed ? allowedMs : refusedMs);
  }
  for (const [name, value] of Object.entries(status.auditAnnotations ?? {})) {
    request.annotate?.(`${NOTES}${name}`, value);
  }
  if (status.allowed) return undefined;
  return refuse(
    request,
    status.reason
      ? `image policy webhook backend denied one or more images: ${status.reason}`
      : "one or more images rejected by webhook backend",
  );
}

function specOf({ namespace, subresource }: AdmissionRequest, { metadata, spec }: Pod) {
  const containers =
    subresource === ""
      ? [...(spec.containers ?? []), ...(spec.initContainers ?? [])]
      : (spec.ephemeralContainers ?? []);
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([name]) =>
    name.includes(".image-policy.k8s.io/"),
  );
  return {
    ...(containers.length === 0
      ? {}
      : { containers: containers.map(({ image }) => (image ? { image } : {})) }),
    ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
    namespace,
  };
}
