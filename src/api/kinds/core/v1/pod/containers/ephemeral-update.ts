/** Ephemeral containers are only ever added. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { RuleContext } from "#api/kind.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { type FieldError, forbidden } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import { MIRROR_POD, validatePodAnnotationUpdate } from "../annotations.ts";
import { internalDiff } from "../internal-diff.ts";
import { ANNOTATIONS_PATH, validatePodContent } from "../pod-rules.ts";
import { podRules } from "../rules.ts";
import { podSpecsEqual } from "../spec-equality.ts";
import { validatePodMetaTwice } from "../update.ts";
import { SPEC_PATH } from "./containers.ts";

export function validateEphemeralContainersUpdate(
  pod: Pod,
  old: Pod,
  context: RuleContext,
): FieldError[] {
  if (old.metadata.annotations?.[MIRROR_POD] !== undefined) {
    return [forbidden(Path.of(""), "static pods do not support ephemeral containers")];
  }
  const rules = podRules(context, old, true);
  const errors = validatePodMetaTwice(pod, old);
  validatePodContent(pod, rules, errors);
  validatePodAnnotationUpdate(pod, old, rules, ANNOTATIONS_PATH, errors);

  const at = SPEC_PATH.child("ephemeralContainers");
  for (const before of old.spec.ephemeralContainers ?? []) {
    const next = (pod.spec.ephemeralContainers ?? []).findLast(({ name }) => name === before.name);
    const what = `existing ephemeral containers ${goQuote(before.name)}`;
    if (next === undefined) errors.push(forbidden(at, `${what} may not be removed\n`));
    else if (!podSpecsEqual(next, before)) {
      const diff = internalDiff("core.v1.EphemeralContainer", before, next);
      errors.push(forbidden(at, `${what} may not be changed\n${diff}`));
    }
  }
  return errors;
}
