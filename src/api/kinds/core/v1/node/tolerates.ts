/** Whether a toleration covers a taint. */
import type { Taint, Toleration } from "#api/generated/core.v1.ts";

export function tolerates(
  { key = "", operator = "", value = "", effect = "" }: Toleration,
  taint: Taint,
): boolean {
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  if (operator === "Exists") return true;
  return (operator === "" || operator === "Equal") && value === (taint.value ?? "");
}
