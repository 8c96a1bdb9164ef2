/**
 * Pods whose spec and annotations were found to be without fault. Most writes to a pod change neither,
 * and what says the same as before needs no second look: the verdict rests on nothing else.
 */
import type { Pod, PodSpec } from "#api/generated/core.v1.ts";
import type { RuleContext } from "#api/kind.ts";
import { jsonEqual } from "#api/patch/json-value.ts";

interface Verdict {
  readonly name: string | undefined;
  readonly annotations: Readonly<Record<string, string>> | undefined;
  readonly allowPrivileged: boolean | undefined;
}

// Memory of pure results. Only of specs that are frozen, and so the same for good.
const verdicts = new WeakMap<PodSpec, Verdict>();

/** Whether the write leaves a pod as it is, but for labels and the like, that was sound before. */
export function isValidated(pod: Pod, old: Pod, { allowPrivileged }: RuleContext): boolean {
  const verdict = pod.spec === old.spec ? verdicts.get(pod.spec) : undefined;
  return (
    verdict !== undefined &&
    verdict.name === pod.metadata.name &&
    verdict.allowPrivileged === allowPrivileged &&
    jsonEqual(verdict.annotations, pod.metadata.annotations) &&
    jsonEqual(verdict.annotations, old.metadata.annotations)
  );
}

export function rememberValidated(pod: Pod, old: Pod, { allowPrivileged }: RuleContext): void {
  const { name, annotations } = pod.metadata;
  if (pod.spec !== old.spec || !Object.isFrozen(pod.spec)) return;
  if (!jsonEqual(annotations, old.metadata.annotations)) return;
  verdicts.set(pod.spec, { name, annotations: old.metadata.annotations, allowPrivileged });
}
