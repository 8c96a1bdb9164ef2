/** What a StatefulSet may say, and what of it may change. */

import type {
  StatefulSet,
  StatefulSetSpec,
  StatefulSetUpdateStrategy,
} from "#api/generated/apps.v1.ts";
import type { PodTemplateSpec, Volume } from "#api/generated/core.v1.ts";
import type { RuleContext } from "#api/kind.ts";
import { validateClaimSpec } from "#api/kinds/core/v1/persistent-volume-claim/spec.ts";
import { podSpecsEqual } from "#api/kinds/core/v1/pod/spec-equality.ts";
import {
  type TemplateRules,
  templateRules,
  validatePodTemplateSpec,
  validateTemplateMeta,
} from "#api/kinds/core/v1/workload/pod-template-validation.ts";
import {
  validateAtMost,
  validateCollisionCount,
  validateCounts,
  validateOwnSelector,
  validateRunsForever,
  validateSelectsTemplate,
} from "#api/kinds/core/v1/workload/workload.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { validateAtMost100Percent, validateIntOrPercent } from "#api/validation/int-or-percent.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { isDns1123Label } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { intOrPercentValue } from "./rolling-update.ts";

const SPEC = Path.of("spec");
const STATUS = Path.of("status");
const RETENTION_POLICIES = ["Retain", "Delete"];

/** What an update goes on tolerating, since it cannot be changed any more. */
interface Tolerances {
  readonly serviceName?: boolean;
  readonly claimTemplates?: boolean;
  readonly template?: boolean;
}

export function validateStatefulSetSpec(
  spec: StatefulSetSpec,
  rules: TemplateRules,
  path: Path,
  tolerate: Tolerances,
): FieldError[] {
  const errors = validatePodManagement(spec.podManagementPolicy ?? "", path);
  errors.push(...validateStrategy(spec.updateStrategy, path.child("updateStrategy")));
  errors.push(...validateRetention(spec, path.child("persistentVolumeClaimRetentionPolicy")));
  if (!tolerate.claimTemplates) {
    for (const [i, claim] of (spec.volumeClaimTemplates ?? []).entries()) {
      const at = path.child("volumeClaimTemplates").index(i).child("spec");
      errors.push(...validateClaimSpec(claim.spec, {}, at));
    }
  }
  errors.push(...validateCounts(spec, ["replicas", "minReadySeconds"], path));
  if (spec.ordinals !== undefined) {
    errors.push(...validateCounts(spec.ordinals, ["start"], path.child("ordinals")));
  }
  const { serviceName = "" } = spec;
  if (!tolerate.serviceName && serviceName !== "") {
    const at = path.child("serviceName");
    for (const fault of isDns1123Label(serviceName)) errors.push(invalid(at, serviceName, fault));
  }
  errors.push(...validateTemplate(spec, rules, path, tolerate));
  errors.push(...validateRunsForever(spec.template, "StatefulSet", path.child("template")));
  return errors;
}

export function validateStatefulSetUpdate(
  set: StatefulSet,
  old: StatefulSet,
  context: RuleContext,
): FieldError[] {
  const rules = templateRules(context, old.spec.template);
  const tolerate = { serviceName: true, claimTemplates: true };
  const wasValid = validateStatefulSetSpec(old.spec, rules, SPEC, tolerate).length === 0;
  const errors = [
    ...validateKubeMetaUpdate(set, old),
    ...validateStatefulSetSpec(set.spec, rules, SPEC, { ...tolerate, template: !wasValid }),
  ];
  if (!podSpecsEqual(fixedPart(set.spec), fixedPart(old.spec))) {
    const detail =
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
    errors.push(forbidden(SPEC, detail));
  }
  return errors;
}

export function validateStatefulSetStatus(set: StatefulSet, old: StatefulSet): FieldError[] {
  const { status } = set;
  return [
    ...validateCounts(
      status,
      [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
      ],
      STATUS,
    ),
    ...validateAtMost(
      status,
      ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
      "replicas",
      "cannot be greater than status.replicas",
      STATUS,
    ),
    ...validateAtMost(
      status,
      ["availableReplicas"],
      "readyReplicas",
      "cannot be greater than status.readyReplicas",
      STATUS,
    ),
    ...validateKubeMetaUpdate(set, old),
    ...validateCollisionCount(status.collisionCount, old.status.collisionCount, STATUS),
  ];
}

function fixedPart(spec: StatefulSetSpec): unknown {
  const {
    replicas: _replicas,
    template: _template,
    updateStrategy: _updateStrategy,
    minReadySeconds: _minReadySeconds,
    ordinals: _ordinals,
    revisionHistoryLimit: _revisionHistoryLimit,
    persistentVolumeClaimRetentionPolicy: _retention,
    ...fixed
  } = spec;
  return fixed;
}

function validatePodManagement(policy: string, path: Path): FieldError[] {
  const at = path.child("podManagementPolicy");
  if (policy === "") return [required(at, "")];
  if (policy === "OrderedReady" || policy === "Parallel") return [];
  return [invalid(at, policy, "must be 'OrderedReady' or 'Parallel'")];
}

function validateStrategy(strategy: StatefulSetUpdateStrategy, path: Path): FieldError[] {
  const { type = "", rollingUpdate } = strategy;
  const at = path.child("rollingUpdate");
  switch (type) {
    case "":
      return [required(path, "")];
    case "OnDelete": {
      if (rollingUpdate === undefined) return [];
      const shown = internalForm("apps.v1.RollingUpdateStatefulSetStrategy", rollingUpdate);
      return [invalid(at, shown, "only allowed for updateStrategy 'RollingUpdate'")];
    }
    case "RollingUpdate": {
      const { partition = 0, maxUnavailable } = rollingUpdate ?? {};
      const errors = validateCounts({ partition }, ["partition"], at);
      if (maxUnavailable !== undefined) {
        errors.push(...validateMaxUnavailable(maxUnavailable, at.child("maxUnavailable")));
      }
      return errors;
    }
    default: {
      const shown = internalForm("apps.v1.StatefulSetUpdateStrategy", strategy);
      return [invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")];
    }
  }
}

function validateMaxUnavailable(value: number | string, path: Path): FieldError[] {
  const errors = validateIntOrPercent(value, path);
  if (intOrPercentValue(value) === 0) errors.push(invalid(path, value, "cannot be 0"));
  return [...errors, ...validateAtMost100Percent(value, path)];
}

function validateRetention(
  { persistentVolumeClaimRetentionPolicy: policy }: StatefulSetSpec,
  path: Path,
): FieldError[] {
  if (policy === undefined) return [];
  return (["whenDeleted", "whenScaled"] as const).flatMap((field) => {
    const value = policy[field] ?? "";
    if (RETENTION_POLICIES.includes(value)) return [];
    return [notSupported(path.child(field), value, RETENTION_POLICIES)];
  });
}

function validateTemplate(
  spec: StatefulSetSpec,
  rules: TemplateRules,
  path: Path,
  tolerate: Tolerances,
): FieldError[] {
  const errors: FieldError[] = [];
  const texts = { empty: "empty selector is invalid for statefulset", broken: "" };
  const selector = validateOwnSelector(
    spec.selector ?? undefined,
    texts,
    path.child("selector"),
    errors,
  );
  if (selector === undefined) return errors;
  const at = path.child("template");
  const template = asPodsWillBe(spec);
  errors.push(...validateSelectsTemplate(selector, template, at));
  if (!tolerate.template) errors.push(...validatePodTemplateSpec(template, rules, at));
  errors.push(...validateTemplateMeta(template, rules, at));
  return errors;
}

/** Pods get their host names from the controller, and a volume for each template of a claim. */
function asPodsWillBe({ template, volumeClaimTemplates = [] }: StatefulSetSpec): PodTemplateSpec {
  const { subdomain: _subdomain, hostname: _hostname, ...podSpec } = template.spec;
  if (volumeClaimTemplates.length === 0) return { ...template, spec: podSpec };
  const claimed = new Map<string, Volume>(
    volumeClaimTemplates.map(({ metadata: { name = "" } }) => [
      name,
      { name, persistentVolumeClaim: { claimName: name } },
    ]),
  );
  const others = (podSpec.volumes ?? []).filter(({ name }) => !claimed.has(name));
  return { ...template, spec: { ...podSpec, volumes: [...claimed.values(), ...others] } };
}
