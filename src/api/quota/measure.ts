/** What measuring an object for quota means. */
import type { ScopedResourceSelectorRequirement } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import type { Amounts } from "./amounts.ts";

export interface Measure {
  /** Whether a quota's resource is about this kind of object. */
  covers(resource: string): boolean;
  usage(object: KubeObject, nowMs: number): Amounts;
  inScope(object: KubeObject, scope: ScopedResourceSelectorRequirement): boolean;
  /**
   * Whether an update, of the object (`subresource` is "") or of a subresource, can change what it
   * costs; without it none can.
   */
  changesWith?(subresource: string, next: KubeObject, old: KubeObject): boolean;
  /** What an object must say before it can be charged for these resources. */
  missing?(object: KubeObject, resources: readonly string[]): string | undefined;
}

/** Whether one of the values is selected; no value at all can only be absent or not in a list. */
export function selects(
  { operator, values = [] }: ScopedResourceSelectorRequirement,
  named: readonly string[],
): boolean {
  switch (operator) {
    case "In":
      return named.some((name) => values.includes(name));
    case "NotIn":
      return named.length === 0 || named.some((name) => !values.includes(name));
    case "Exists":
      return named.length > 0;
    case "DoesNotExist":
      return named.length === 0;
    default:
      return false;
  }
}
