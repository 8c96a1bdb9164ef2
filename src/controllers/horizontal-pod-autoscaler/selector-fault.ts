/** Why a target's selector cannot be used: it is missing, invalid, or several autoscalers select the same pods. */
import type { HorizontalPodAutoscaler } from "#api/generated/autoscaling.v2.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { parseSelector } from "#api/meta/label-selector.ts";

interface SelectorFault {
  /** Reason of the event, and of the condition. */
  readonly event: string;
  readonly reason: string;
  readonly error: string;
  readonly message: string;
}

interface Claimed {
  readonly autoscaler: HorizontalPodAutoscaler;
  readonly rivals: readonly string[];
  readonly pods: readonly Pod[];
}

export function selectorFault(selector: string, claimed: Claimed): SelectorFault | undefined {
  const reason = "InvalidSelector";
  if (selector === "") {
    const message = "the HPA target's scale is missing a selector";
    return { event: "SelectorRequired", reason, error: "selector is required", message };
  }
  const parsed = parseSelector(selector);
  if (parsed.ok) return ambiguity(selector, claimed);
  const error = `couldn't convert selector into a corresponding internal selector object: ${parsed.error}`;
  return { event: reason, reason, error, message: error };
}

function ambiguity(
  selector: string,
  { autoscaler: { metadata }, rivals, pods }: Claimed,
): SelectorFault | undefined {
  if (rivals.length === 0 || pods.length === 0) return undefined;
  const all = [metadata.name ?? "", ...rivals].sort();
  const names = all.map((name) => `{${name} ${metadata.namespace}}`).join(" ");
  const error = `pods by selector ${selector} are controlled by multiple HPAs: [${names}]`;
  return { event: "AmbiguousSelector", reason: "AmbiguousSelector", error, message: error };
}
