/** admissionregistration.k8s.io/v1 webhook configurations: who is asked before a write is taken. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from "#api/generated/admissionregistration.v1.ts";
import { type Column, type Draft, defineKind, type RuleContext } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { validateOneOf } from "#api/validation/faults.ts";
import { duplicate, type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import { selectorHasInvalidLabelValue, validateLabelSelector } from "#api/validation/labels.ts";
import { isDns1123Subdomain, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { validateObjectMeta } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import {
  KNOWN_REVIEW_VERSIONS,
  knowsReviewVersion,
  validateReviewVersions,
} from "#api/validation/review-versions.ts";
import { validateWebhookClient } from "#api/validation/webhook-client.ts";
import { validateMatchConditions } from "./match-conditions.ts";
import {
  defaultRule,
  FAILURE_POLICIES,
  MATCH_POLICIES,
  validateRuleWithOperations,
} from "./rules.ts";
import { staticSuffixWarnings } from "./static-suffix.ts";

const META = { namespaced: false, nameRule: nameIsDnsSubdomain };
const SIDE_EFFECTS = ["None", "NoneOnDryRun", "Some", "Unknown"];
const NO_SIDE_EFFECTS = ["None", "NoneOnDryRun"];
export const REINVOCATION_POLICIES = ["IfNeeded", "Never"];
const TIMEOUT_SECONDS_MAX = 30;

type Webhook = ValidatingWebhook & Pick<MutatingWebhook, "reinvocationPolicy">;
type Configuration = ValidatingWebhookConfiguration | MutatingWebhookConfiguration;

export const validatingWebhookConfigurationKind = defineKind<ValidatingWebhookConfiguration>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  names: {
    kind: "ValidatingWebhookConfiguration",
    plural: "validatingwebhookconfigurations",
    categories: ["api-extensions"],
  },
  scope: "Cluster",
  schema: builtInSchema("admissionregistration.v1.ValidatingWebhookConfiguration"),
  nameRule: nameIsDnsSubdomain,
  defaults: ({ webhooks = [] }) => webhooks.forEach(setDefaults),
  prepareCreate: ({ metadata }) => {
    metadata.generation = 1;
  },
  prepareUpdate: countChanges,
  validate: (configuration, context) => validateWebhooks(configuration, undefined, context),
  validateUpdate: validateWebhooksUpdate,
  warnings: ({ metadata }) => staticSuffixWarnings(metadata.name),
  columns: columns(),
});

export const mutatingWebhookConfigurationKind = defineKind<MutatingWebhookConfiguration>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  names: {
    kind: "MutatingWebhookConfiguration",
    plural: "mutatingwebhookconfigurations",
    categories: ["api-extensions"],
  },
  scope: "Cluster",
  schema: builtInSchema("admissionregistration.v1.MutatingWebhookConfiguration"),
  nameRule: nameIsDnsSubdomain,
  defaults: ({ webhooks = [] }) => {
    for (const webhook of webhooks) {
      setDefaults(webhook);
      webhook.reinvocationPolicy ??= "Never";
    }
  },
  prepareCreate: ({ metadata }) => {
    metadata.generation = 1;
  },
  prepareUpdate: countChanges,
  validate: (configuration, context) => validateWebhooks(configuration, undefined, context),
  validateUpdate: validateWebhooksUpdate,
  warnings: ({ metadata }) => staticSuffixWarnings(metadata.name),
  columns: columns(),
});

function setDefaults(webhook: Draft<Webhook>): void {
  webhook.failurePolicy ??= "Fail";
  webhook.matchPolicy ??= "Equivalent";
  webhook.namespaceSelector ??= {};
  webhook.objectSelector ??= {};
  webhook.timeoutSeconds ??= 10;
  if (webhook.clientConfig.service !== undefined) webhook.clientConfig.service.port ??= 443;
  for (const rule of webhook.rules ?? []) defaultRule(rule);
}

function countChanges(draft: Draft<Configuration>, old: Configuration): void {
  if (semanticEqual(draft.webhooks, old.webhooks)) return;
  draft.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

/** What is asked of webhooks; an update asks less where the stored ones already fall short. */
interface Demands {
  readonly noSideEffects: boolean;
  readonly knownReviewVersion: boolean;
  readonly uniqueNames: boolean;
  readonly validLabelValues: boolean;
  readonly matchConditions: boolean;
  readonly storedExpressions: ReadonlySet<string>;
}

function validateWebhooksUpdate(
  configuration: Configuration,
  old: Configuration,
  context: RuleContext,
): FieldError[] {
  return [
    ...validateObjectMeta(configuration.metadata, META, METADATA),
    ...validateWebhooks(configuration, old, context),
  ];
}

function validateWebhooks(
  { webhooks = [] }: Configuration,
  old: Configuration | undefined,
  { expressions }: RuleContext,
): FieldError[] {
  const demands = demandsOf(webhooks, old?.webhooks);
  const errors: FieldError[] = [];
  const names = new Set<string>();
  for (const [i, webhook] of webhooks.entries()) {
    const path = Path.of("webhooks").index(i);
    errors.push(...validateWebhook(webhook, demands, path));
    if (demands.matchConditions) {
      const options = {
        compiler: expressions,
        hasParams: false,
        stored: demands.storedExpressions,
      };
      const at = path.child("matchConditions");
      errors.push(...validateMatchConditions(webhook.matchConditions ?? [], options, at));
    }
    errors.push(
      ...validateReviewVersions(
        webhook.admissionReviewVersions ?? [],
        {
          absent: `must specify one of ${KNOWN_REVIEW_VERSIONS}`,
          mustKnowOne: demands.knownReviewVersion,
        },
        path.child("admissionReviewVersions"),
      ),
    );
    if (demands.uniqueNames && webhook.name !== "" && names.has(webhook.name)) {
      errors.push(duplicate(path.child("name"), webhook.name));
    }
    names.add(webhook.name);
  }
  return errors;
}

function demandsOf(webhooks: readonly Webhook[], old: readonly Webhook[] = []): Demands {
  const sameConditions =
    old.length > 0 &&
    old.length === webhooks.length &&
    old.every((webhook, i) => semanticEqual(webhook.matchConditions, webhooks[i]!.matchConditions));
  return {
    noSideEffects: old.every(({ sideEffects }) => NO_SIDE_EFFECTS.includes(sideEffects ?? "")),
    knownReviewVersion: old.every(
      ({ admissionReviewVersions: versions }) => !versions?.length || knowsReviewVersion(versions),
    ),
    uniqueNames: new Set(old.map(({ name }) => name)).size === old.length,
    validLabelValues: !old.some(
      ({ namespaceSelector, objectSelector }) =>
        selectorHasInvalidLabelValue(namespaceSelector) ||
        selectorHasInvalidLabelValue(objectSelector),
    ),
    matchConditions: !sameConditions,
    storedExpressions: new Set(
      old.flatMap(({ matchConditions = [] }) => matchConditions.map((c) => c.expression)),
    ),
  };
}

function validateWebhook(webhook: Webhook, demands: Demands, path: Path): FieldError[] {
  const errors = validateFullyQualifiedName(webhook.name, path.child("name"));
  for (const [i, rule] of (webhook.rules ?? []).entries()) {
    errors.push(...validateRuleWithOperations(rule, path.child("rules").index(i)));
  }
  const { failurePolicy, matchPolicy, sideEffects, timeoutSeconds, reinvocationPolicy } = webhook;
  if (failurePolicy !== undefined) {
    errors.push(...validateOneOf(path.child("failurePolicy"), failurePolicy, FAILURE_POLICIES));
  }
  if (matchPolicy !== undefined) {
    errors.push(...validateOneOf(path.child("matchPolicy"), matchPolicy, MATCH_POLICIES));
  }
  const allowed = demands.noSideEffects ? NO_SIDE_EFFECTS : SIDE_EFFECTS;
  if (sideEffects === null) {
    const detail = `must specify one of ${allowed.join(", ")}`;
    errors.push(required(path.child("sideEffects"), detail));
  } else {
    errors.push(...validateOneOf(path.child("sideEffects"), sideEffects, allowed));
  }
  if (timeoutSeconds !== undefined) {
    if (timeoutSeconds < 1 || timeoutSeconds > TIMEOUT_SECONDS_MAX) {
      const detail = `the timeout value must be between 1 and ${TIMEOUT_SECONDS_MAX} seconds`;
      errors.push(invalid(path.child("timeoutSeconds"), timeoutSeconds, detail));
    }
  }
  const options = { allowInvalidLabelValue: !demands.validLabelValues };
  for (const field of ["namespaceSelector", "objectSelector"] as const) {
    errors.push(...validateLabelSelector(webhook[field], options, path.child(field)));
  }
  if (reinvocationPolicy !== undefined) {
    const at = path.child("reinvocationPolicy");
    errors.push(...validateOneOf(at, reinvocationPolicy, REINVOCATION_POLICIES));
  }
  errors.push(...validateWebhookClient(webhook.clientConfig, path.child("clientConfig")));
  return errors;
}

function validateFullyQualifiedName(name: string, path: Path): FieldError[] {
  if (name === "") return [required(path, "")];
  const faults = isDns1123Subdomain(name);
  if (faults.length > 0) return [invalid(path, name, faults.join(","))];
  if (name.split(".").length >= 3) return [];
  const detail = "should be a domain with at least three segments separated by dots";
  return [invalid(path, name, detail)];
}

function columns(): readonly Column<Configuration>[] {
  return [
    nameColumn,
    {
      name: "Webhooks",
      type: "integer",
      description: "Webhooks indicates the number of webhooks registered in this configuration",
      cell: ({ webhooks = [] }) => webhooks.length,
    },
    ageColumn,
  ];
}
