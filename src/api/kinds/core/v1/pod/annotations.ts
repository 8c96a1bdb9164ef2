/** Annotations that mean something for pods: mirrors, deletion cost, old tolerations and profiles. */
import { findTextFault } from "#api/codec/json-syntax.ts";
import type { Pod, PodSpec, Toleration } from "#api/generated/core.v1.ts";
import { type FieldError, forbidden, invalid } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { allContainers } from "./containers/containers.ts";
import { validateTolerations } from "./placement/tolerations.ts";
import type { PodRules } from "./rules.ts";
import {
  APPARMOR_PREFIX,
  validateAppArmorText,
  validateSeccompAnnotations,
} from "./security/profiles.ts";

export const MIRROR_POD = "kubernetes.io/config.mirror";
const TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";
const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;

type Annotations = Readonly<Record<string, string>> | undefined;

/** undefined if the annotation is there and malformed. */
export function deletionCostOf(annotations: Annotations): number | undefined {
  const text = annotations?.[DELETION_COST];
  if (text === undefined) return 0;
  if (!/^(0|[1-9][0-9]*|-[0-9]+)$/.test(text)) return undefined;
  const cost = Number(text);
  return cost >= INT32_MIN && cost <= INT32_MAX ? cost : undefined;
}

export function validatePodAnnotations(
  annotations: Annotations,
  spec: PodSpec,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  if (annotations === undefined) return;
  const mirror = annotations[MIRROR_POD];
  if (mirror !== undefined && (spec.nodeName ?? "") === "") {
    const at = path.key(MIRROR_POD);
    errors.push(invalid(at, mirror, "must set spec.nodeName if mirror pod annotation is set"));
  }
  if (annotations[TOLERATIONS]) {
    validateTolerationText(annotations[TOLERATIONS], rules, path, errors);
  }
  if (!rules.allowInvalidDeletionCost && deletionCostOf(annotations) === undefined) {
    const at = path.key(DELETION_COST);
    errors.push(invalid(at, annotations[DELETION_COST], "must be a 32bit integer"));
  }
  validateSeccompAnnotations(annotations, path, errors);
  validateAppArmorAnnotations(annotations, spec, path, errors);
}

/** Profiles and the mark of a mirror are set once, when the pod is made. */
export function validatePodAnnotationUpdate(
  pod: Pod,
  old: Pod,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  const next = pod.metadata.annotations ?? {};
  const before = old.metadata.annotations ?? {};
  for (const key of Object.keys(before)) {
    if (next[key] === before[key]) continue;
    if (key.startsWith(APPARMOR_PREFIX)) {
      errors.push(forbidden(path.key(key), "may not remove or update AppArmor annotations"));
    }
    if (key === MIRROR_POD) {
      errors.push(forbidden(path.key(key), "may not remove or update mirror pod annotation"));
    }
  }
  for (const key of Object.keys(next)) {
    if (Object.hasOwn(before, key)) continue;
    if (key.startsWith(APPARMOR_PREFIX)) {
      errors.push(forbidden(path.key(key), "may not add AppArmor annotations"));
    }
    if (key === MIRROR_POD) {
      errors.push(forbidden(path.key(key), "may not add mirror pod annotation"));
    }
  }
  validatePodAnnotations(pod.metadata.annotations, pod.spec, rules, path, errors);
}

function validateTolerationText(
  text: string,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  const fault = findTextFault(text) ?? typeFault(JSON.parse(text));
  if (fault !== undefined) {
    errors.push(invalid(path, TOLERATIONS, fault));
    return;
  }
  const items = (JSON.parse(text) ?? []) as readonly (Readonly<Record<string, unknown>> | null)[];
  const tolerations = items.map((item) => lowerCaseKeys(item ?? {}));
  validateTolerations(tolerations, rules, path.child(TOLERATIONS), errors);
}

/** What each field of a toleration must be, and how the type is called. */
const TOLERATION_FIELDS: Readonly<Record<string, readonly [json: string, type: string]>> = {
  Key: ["string", "string"],
  Operator: ["string", "core.TolerationOperator"],
  Value: ["string", "string"],
  Effect: ["string", "core.TaintEffect"],
  TolerationSeconds: ["number", "int64"],
};

function typeFault(value: unknown): string | undefined {
  const fault = (found: unknown, where: string) =>
    `json: cannot unmarshal ${jsonType(found)} into Go ${where}`;
  if (value === null) return undefined;
  if (!Array.isArray(value)) return fault(value, "value of type []core.Toleration");
  for (const item of value) {
    if (typeof item !== "object" || Array.isArray(item)) {
      return fault(item, "value of type core.Toleration");
    }
    for (const [name, found] of Object.entries(lowerCaseKeys(item ?? {}))) {
      const goName = name.slice(0, 1).toUpperCase() + name.slice(1);
      const [json, type] = TOLERATION_FIELDS[goName]!;
      if (jsonType(found) !== json) {
        return fault(found, `struct field Toleration.${goName} of type ${type}`);
      }
    }
  }
  return undefined;
}

function jsonType(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

/** Names of fields are read whatever their case. */
function lowerCaseKeys(record: Readonly<Record<string, unknown>>): Toleration {
  const known = ["key", "operator", "value", "effect", "tolerationSeconds"];
  const entries = Object.entries(record).flatMap(([key, value]) => {
    const name = known.find((candidate) => candidate.toLowerCase() === key.toLowerCase());
    return name === undefined || value === null ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries) as Toleration;
}

function validateAppArmorAnnotations(
  annotations: Readonly<Record<string, string>>,
  spec: PodSpec,
  path: Path,
  errors: FieldError[],
): void {
  for (const key of Object.keys(annotations)) {
    if (!key.startsWith(APPARMOR_PREFIX)) continue;
    const profile = annotations[key]!;
    const name = key.slice(APPARMOR_PREFIX.length);
    if (!allContainers(spec).some((container) => container.name === name)) {
      errors.push(invalid(path.key(key), name, "container not found"));
    }
    const fault = validateAppArmorText(profile);
    if (fault !== undefined) errors.push(invalid(path.key(key), profile, fault));
  }
}
