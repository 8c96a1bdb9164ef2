/**
 * Converts custom resources by the webhook that their definition names (ConversionReview v1 or v1beta1).
 *
 * Promises:
 * 1. Objects that are in the wanted version already are not sent. If none is left, nothing is called.
 * 2. A call has at most OBJECTS_PER_CALL objects; calls of one conversion are made one after another.
 * 3. The answer is checked: uid, number of objects, their version, kind, name, namespace and uid. Of the
 *    metadata only labels and annotations may differ; everything else is restored from the original.
 * 4. Whatever goes wrong is a Status 500 with upstream's text.
 */
import type { CustomResourceDefinition } from "#api/generated/apiextensions.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import type { ConvertByWebhook } from "#api/kinds/apiextensions/custom-resource/custom-resource-kind.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { failure, type Result, success, unknownStatus } from "#api/meta/status.ts";
import { messageOf } from "#lib/caught.ts";
import type { Random } from "#lib/random.ts";
import type { WebhookClient, WebhookClientConfig } from "../webhook/webhook-client.ts";

/** As upstream's, which cannot be configured. */
const TIMEOUT_MS = 30_000;
/** So that neither a question nor an answer keeps the event loop busy for long. */
const OBJECTS_PER_CALL = 250;
const SPOKEN: readonly string[] = ["v1", "v1beta1"];

export interface ConversionOptions {
  readonly webhooks: WebhookClient;
  readonly random: Pick<Random, "uuid">;
}

/** Undefined if the versions of the definition are not converted by a webhook. */
export function conversionOf(
  options: ConversionOptions,
  { spec: { conversion } }: Pick<CustomResourceDefinition, "spec">,
): ConvertByWebhook | undefined {
  const { webhook } = conversion ?? {};
  if (conversion?.strategy !== "Webhook" || webhook?.clientConfig === undefined) return undefined;
  const { clientConfig, conversionReviewVersions } = webhook;
  const reviewVersion = conversionReviewVersions?.find((version) => SPOKEN.includes(version));
  return async (objects, apiVersion) => {
    if (reviewVersion === undefined) {
      return failure(unknownStatus("no supported conversion review versions"));
    }
    const converted = [...objects];
    const wanted = [...objects.keys()].filter((at) => objects[at]!.apiVersion !== apiVersion);
    for (let start = 0; start < wanted.length; start += OBJECTS_PER_CALL) {
      const places = wanted.slice(start, start + OBJECTS_PER_CALL);
      const batch = places.map((at) => objects[at]!);
      const call = { clientConfig, reviewVersion, apiVersion };
      const answered = await convertBatch(options, call, batch);
      if (!answered.ok) return answered;
      for (const [index, at] of places.entries()) converted[at] = answered.value[index]!;
    }
    return success(converted);
  };
}

interface Call {
  readonly clientConfig: WebhookClientConfig;
  readonly reviewVersion: string;
  readonly apiVersion: string;
}

async function convertBatch(
  { webhooks, random }: ConversionOptions,
  call: Call,
  objects: readonly KubeObject[],
): Promise<Result<readonly KubeObject[]>> {
  const { clientConfig: config, reviewVersion, apiVersion } = call;
  const uid = random.uuid();
  const kind = kindText(objects[0]!);
  const review = {
    kind: "ConversionReview",
    apiVersion: `apiextensions.k8s.io/${reviewVersion}`,
    request: { uid, desiredAPIVersion: apiVersion, objects },
  };
  try {
    const body = JSON.stringify(review);
    const answer = await webhooks.post({ config, body, timeoutMs: TIMEOUT_MS });
    const converted = convertedObjects(answer, reviewVersion, uid);
    if (converted.length === objects.length) {
      return success(converted.map((one, at) => checked(one, objects[at]!, apiVersion)));
    }
    const counts = `returned ${converted.length} objects, expected ${objects.length}`;
    return failure(unknownStatus(`conversion webhook for ${kind} ${counts}`));
  } catch (error) {
    const verb = error instanceof InvalidObject ? "returned invalid" : "failed:";
    return failure(unknownStatus(`conversion webhook for ${kind} ${verb} ${messageOf(error)}`));
  }
}

/** One of the converted objects is not what was asked for. */
class InvalidObject extends Error {
  override readonly name = "InvalidObject";
}

function kindText({ apiVersion = "", kind = "" }: KubeObject): string {
  return `${apiVersion}, Kind=${kind}`;
}

interface Review {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly response?: {
    readonly uid?: unknown;
    readonly result?: { readonly status?: unknown; readonly message?: unknown };
    readonly convertedObjects?: unknown;
  };
}

function convertedObjects(answer: unknown, version: string, uid: string): readonly unknown[] {
  const { kind = "", apiVersion = "", response } = Object(answer) as Review;
  if (version === "v1" && (kind !== "ConversionReview" || apiVersion !== REVIEW_V1)) {
    const expected = `${REVIEW_V1}, Kind=ConversionReview`;
    throw new Error(`expected webhook response of ${expected}, got ${apiVersion}, Kind=${kind}`);
  }
  if (response === undefined || response === null) throw new Error("no response provided");
  if (version === "v1" && response.uid !== uid) {
    throw new Error(
      `expected response.uid=${goQuote(uid)}, got ${goQuote(String(response.uid ?? ""))}`,
    );
  }
  const { status = "", message = "" } = Object(response.result) as {
    status?: string;
    message?: string;
  };
  if (status !== "Success") {
    throw new Error(message || `response.result.status was '${status}', not 'Success'`);
  }
  return Array.isArray(response.convertedObjects) ? response.convertedObjects : [];
}

const REVIEW_V1 = "apiextensions.k8s.io/v1";

/** The converted object with the metadata of the original; throws if it is another object. */
function checked(converted: unknown, original: KubeObject, expected: string): KubeObject {
  const object = Object(converted) as Partial<KubeObject>;
  const { apiVersion = "", kind = "", metadata } = object;
  if (apiVersion !== expected) {
    const why = `invalid groupVersion (expected ${expected}, received ${apiVersion})`;
    throw new InvalidObject(`object at index 0: ${why}`);
  }
  if (kind !== original.kind) {
    const why = `invalid kind (expected ${original.kind}, received ${kind})`;
    throw new InvalidObject(`object at index 0: ${why}`);
  }
  for (const [field, text] of IDENTITY) {
    const [was, is] = [original.metadata[field] ?? "", Object(metadata)[field] ?? ""];
    if (was !== is) throw new InvalidObject(`object: must have the same ${text}: ${was} != ${is}`);
  }
  if (metadata === undefined) {
    throw new InvalidObject("metadata: missing metadata in converted object");
  }
  for (const field of ["labels", "annotations"] as const) {
    for (const [key, value] of Object.entries(metadata[field] ?? {})) {
      if (typeof value === "string") continue;
      const why = `metadata.${field}[${key}] must be a string, but is ${typeof value}`;
      throw new InvalidObject(`metadata: ${why} in converted object`);
    }
  }
  return restored(object, original, metadata);
}

const IDENTITY = [
  ["name", "name"],
  ["namespace", "namespace"],
  ["uid", "UID"],
] as const;

function restored(
  object: Partial<KubeObject>,
  original: KubeObject,
  { labels, annotations }: KubeObject["metadata"],
): KubeObject {
  const { labels: _, annotations: __, ...kept } = original.metadata;
  const { kind, apiVersion, metadata: ___, ...rest } = object;
  return {
    kind,
    apiVersion,
    metadata: {
      ...kept,
      ...(labels === undefined || labels === null ? {} : { labels }),
      ...(annotations === undefined || annotations === null ? {} : { annotations }),
    },
    ...rest,
  } as KubeObject;
}
