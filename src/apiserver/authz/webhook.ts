/**
 * Webhook authorization: sends a SubjectAccessReview to another server. Its decisions are cached. If
 * the call fails the webhook has no opinion, or denies, as configured (failurePolicy).
 */
import type { AccessCondition } from "#api/expressions/access-review.ts";
import type {
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from "#api/generated/authorization.v1.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { userInfo } from "../authn/reviews.ts";
import { aggregateText } from "../config/aggregate-text.ts";
import { ExpiringCache } from "../webhook/expiring-cache.ts";
import type { AskWebhook } from "../webhook/webhook.ts";
import type { AccessAttributes, Authorizer, Decision } from "./authorizer.ts";

export interface WebhookAuthorizerOptions {
  readonly name: string;
  readonly ask: AskWebhook;
  readonly version: "v1" | "v1beta1";
  readonly allowedMs: number;
  readonly refusedMs: number;
  readonly onFailure: "noOpinion" | "deny";
  /** It is asked only where all of them hold. */
  readonly conditions?: readonly AccessCondition[];
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly logger: Logger;
}

const CACHED_MAX = 8_192;
/** What the client chooses must not fill the cache. */
const KEY_LENGTH_MAX = 10_000;

export function createWebhookAuthorizer(options: WebhookAuthorizerOptions): Authorizer {
  const { name, ask, version, clock, logger, onFailure } = options;
  const cache = new ExpiringCache<SubjectAccessReviewStatus>(clock, CACHED_MAX);
  const review = async (spec: SubjectAccessReviewSpec, key: string): Promise<Decision> => {
    const question = {
      kind: "SubjectAccessReview",
      apiVersion: `authorization.k8s.io/${version}`,
      metadata: {},
      spec: version === "v1" ? spec : withOldNames(spec),
    };
    try {
      const answer = await ask(question);
      const status = statusOf(answer);
      const ms = status.allowed ? options.allowedMs : options.refusedMs;
      if (key.length <= KEY_LENGTH_MAX) cache.set(key, status, ms);
      return decisionOf(status);
    } catch (error) {
      logger.error("a webhook of access could not be asked", { name, error });
      const fault = messageOf(error);
      return { decision: onFailure, reason: "", fault };
    }
  };
  return {
    name,
    authorize(attributes) {
      const spec = specOf(attributes);
      const match = matchOf(options.conditions ?? [], spec);
      if (match === "no") return { decision: "noOpinion", reason: "" };
      if (match !== "yes") return { decision: onFailure, reason: "", fault: match.fault };
      const key = JSON.stringify(spec);
      const known = cache.get(key);
      return known === undefined ? review(spec, key) : decisionOf(known);
    },
    rulesFor: () => ({
      rules: [],
      incomplete: true,
      faults: ["webhook authorizer does not support user rule resolution"],
    }),
  };
}

/** A condition that is false takes precedence over conditions that fail to evaluate. */
function matchOf(
  conditions: readonly AccessCondition[],
  spec: SubjectAccessReviewSpec,
): "yes" | "no" | { readonly fault: string } {
  const faults: string[] = [];
  for (const { text, evaluate } of conditions) {
    const evaluated = evaluate(spec);
    if (evaluated.ok && evaluated.value !== true) return "no";
    if (evaluated.ok) continue;
    const { error } = evaluated;
    faults.push(`cel evaluation error: expression '${text}' resulted in error: ${error}`);
  }
  return faults.length === 0 ? "yes" : { fault: aggregateText(faults) };
}

function statusOf(answer: unknown): SubjectAccessReviewStatus {
  const status = (answer as { status?: SubjectAccessReviewStatus } | undefined)?.status;
  return status ?? { allowed: false };
}

function decisionOf({ allowed, denied, reason = "" }: SubjectAccessReviewStatus): Decision {
  if (denied && allowed) {
    const fault = "webhook subject access review returned both allow and deny response";
    return { decision: "deny", reason, fault };
  }
  if (denied) return { decision: "deny", reason };
  return { decision: allowed ? "allow" : "noOpinion", reason };
}

function specOf(attributes: AccessAttributes): SubjectAccessReviewSpec {
  const { username, ...who } = userInfo(attributes.user);
  const { verb, path, isResource } = attributes;
  return {
    ...(isResource
      ? { resourceAttributes: resourceOf(attributes) }
      : { nonResourceAttributes: { path, verb } }),
    ...(username === undefined ? {} : { user: username }),
    ...who,
  };
}

function resourceOf(attributes: AccessAttributes) {
  const { fieldSelector = [], labelSelector = [] } = attributes;
  const fields = fieldSelector.map(({ field, operator, value }) => ({
    key: field,
    operator: operator === "=" ? "In" : "NotIn",
    values: [value],
  }));
  const labels = (labelSelector === "nothing" ? [] : labelSelector).map(
    ({ key, operator, values }) => ({
      key,
      operator: LABEL_OPERATORS[operator] ?? operator,
      ...(values.length === 0 ? {} : { values: [...values] }),
    }),
  );
  return {
    ...present(attributes, ["namespace", "verb", "group", "version", "resource"]),
    ...present(attributes, ["subresource", "name"]),
    ...(fields.length === 0 ? {} : { fieldSelector: { requirements: fields } }),
    ...(labels.length === 0 ? {} : { labelSelector: { requirements: labels } }),
  };
}

const LABEL_OPERATORS: Readonly<Record<string, string>> = {
  in: "In",
  "=": "In",
  "==": "In",
  notin: "NotIn",
  "!=": "NotIn",
  exists: "Exists",
  "!": "DoesNotExist",
};

function present<Name extends keyof AccessAttributes>(
  attributes: AccessAttributes,
  names: readonly Name[],
): Partial<Pick<AccessAttributes, Name>> {
  const there = names.filter((one) => attributes[one] !== "");
  return Object.fromEntries(there.map((one) => [one, attributes[one]])) as Partial<
    Pick<AccessAttributes, Name>
  >;
}

/** The old version called the list of groups by its singular. */
function withOldNames({ groups, ...rest }: SubjectAccessReviewSpec): object {
  return groups === undefined ? rest : { ...rest, group: groups };
}
