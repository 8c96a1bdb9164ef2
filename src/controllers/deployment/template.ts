/** Pod templates: what makes two the same, and the short hash that names a ReplicaSet after one. */
import type { PodTemplateSpec } from "#api/generated/core.v1.ts";
import { semanticEqual } from "#api/validation/immutable.ts";

export const HASH_LABEL = "pod-template-hash";

/** Without vowels and look-alikes, so that no hash spells a word. */
const SAFE_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

export function templateHash(
  template: PodTemplateSpec,
  collisionCount: number | undefined,
): string {
  const text =
    JSON.stringify(template) + (collisionCount === undefined ? "" : `#${collisionCount}`);
  return safeEncode(String(fnv1a32(text)));
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

function fnv1a32(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash;
}

function safeEncode(digits: string): string {
  return [...digits].map((c) => SAFE_ALPHABET[c.charCodeAt(0) % SAFE_ALPHABET.length]).join("");
}
