/** Pod templates: what makes two the same, and the short hash that names a ReplicaSet after one. */
import type { PodTemplateSpec } from "#api/generated/core.v1.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { shortHash } from "../shared/short-hash.ts";

export const HASH_LABEL = "pod-template-hash";

export function templateHash(
  template: PodTemplateSpec,
  collisionCount: number | undefined,
): string {
  const text =
    JSON.stringify(template) + (collisionCount === undefined ? "" : `#${collisionCount}`);
  return shortHash(text);
}

export function isSameTemplate(a: PodTemplateSpec, b: PodTemplateSpec): boolean {
  return semanticEqual(withoutHash(a), withoutHash(b));
}

export function withoutHash(template: PodTemplateSpec): PodTemplateSpec {
  const { labels, ...metadata } = template.metadata;
  if (labels?.[HASH_LABEL] === undefined) return template;
  const { [HASH_LABEL]: _, ...rest } = labels;
  return { ...template, metadata: { ...metadata, labels: rest } };
}
