/** Which taints a pod tolerates. */
import type { Taint, Toleration } from "#api/generated/core.v1.ts";

/** What a toleration leaves out it does not ask for. */
export function tolerates(
  { key = "", operator = "", value = "", effect = "" }: Toleration,
  taint: Taint,
): boolean {
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  if (operator === "Exists") return true;
  return (operator === "" || operator === "Equal") && value === (taint.value ?? "");
}

export function toleratesAll(
  tolerations: readonly Toleration[] | undefined,
  taints: readonly Taint[],
): boolean {
  return taints.every((taint) => (tolerations ?? []).some((one) => tolerates(one, taint)));
}
