/** What the kinds that make pods have in common. */
import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import type { PodTemplateSpec } from "#api/generated/core.v1.ts";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import { matchesLabels, type Selector, selectorOf } from "#api/meta/label-selector.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { validateLabelSelector } from "#api/validation/labels.ts";
import { isDns1123Label } from "#api/validation/names.ts";
import { validateNonNegative } from "#api/validation/object-meta.ts";
import type { Path } from "#api/validation/path.ts";
import { podSpecsEqual } from "../pod/spec-equality.ts";

/** Fields that count something: none may be below zero. */
export function validateCounts<T extends object>(
  object: T,
  fields: readonly (keyof T & string)[],
  path: Path,
): FieldError[] {
  return fields.flatMap((field) =>
    validateNonNegative((object[field] as number | undefined) ?? 0, path.child(field)),
  );
}

/** `message: faults` where a name is used for pods, which are hosts. */
export function podNameWarnings({ metadata: { name = "" } }: KubeObject): string[] {
  const faults = isDns1123Label(name);
  if (faults.length === 0) return [];
  return [
    `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${faults.join(" ")}]`,
  ];
}

/** Counts one generation if the parts differ. */
export function countChange(draft: Draft<KubeObject>, old: KubeObject, changed: boolean): void {
  if (changed) draft.metadata.generation = Number(old.metadata.generation ?? 0) + 1;
}

/** True if two specs differ in anything but notation. */
export function specsDiffer(a: unknown, b: unknown): boolean {
  return !podSpecsEqual(a, b);
}

/** The selector that a controller must have, and what it selects: undefined if that cannot be said. */
export function validateOwnSelector(
  selector: LabelSelector | undefined,
  texts: { readonly empty: string; readonly broken: string },
  path: Path,
  errors: FieldError[],
): Selector | undefined {
  if (selector === undefined) errors.push(required(path, ""));
  else {
    errors.push(...validateLabelSelector(selector, {}, path));
    if (isEmptySelector(selector)) errors.push(invalid(path, selector, texts.empty));
  }
  const parsed = selectorOf(selector);
  if (parsed.ok) return parsed.value;
  errors.push(invalid(path, selector, texts.broken));
  return undefined;
}

export function isEmptySelector({
  matchLabels = {},
  matchExpressions = [],
}: LabelSelector): boolean {
  return Object.keys(matchLabels).length + matchExpressions.length === 0;
}

/** Pods made from the template must be found by the selector. */
export function validateSelectsTemplate(
  selector: Selector,
  { metadata }: PodTemplateSpec,
  path: Path,
): FieldError[] {
  if (matchesLabels(selector, metadata?.labels)) return [];
  const at = path.child("metadata", "labels");
  const shown = metadata?.labels ?? (isEmptyCollection(metadata, "labels") ? {} : undefined);
  return [invalid(at, shown, "`selector` does not match template `labels`")];
}

/** Pods of controllers are replaced when they end, so they never end by themselves. */
export function validateRunsForever(
  { spec }: PodTemplateSpec,
  kind: string,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  const { restartPolicy = "", activeDeadlineSeconds } = spec;
  if (restartPolicy !== "Always") {
    errors.push(notSupported(path.child("spec", "restartPolicy"), restartPolicy, ["Always"]));
  }
  if (activeDeadlineSeconds !== undefined) {
    const at = path.child("spec", "activeDeadlineSeconds");
    errors.push(forbidden(at, `activeDeadlineSeconds in ${kind} is not Supported`));
  }
  return errors;
}

/** No part can be more than the whole. */
export function validateAtMost<T extends object>(
  status: T,
  fields: readonly (keyof T & string)[],
  whole: keyof T & string,
  detail: string,
  path: Path,
): FieldError[] {
  const most = (status[whole] as number | undefined) ?? 0;
  return fields.flatMap((field) => {
    const value = (status[field] as number | undefined) ?? 0;
    return value > most ? [invalid(path.child(field), value, detail)] : [];
  });
}

/** A count of name collisions only grows. */
export function validateCollisionCount(
  next: number | undefined,
  old: number | undefined,
  path: Path,
): FieldError[] {
  if (old === undefined || (next !== undefined && next >= old)) return [];
  return [invalid(path.child("collisionCount"), next ?? 0, "cannot be decremented")];
}
