/** Annotations of Nodes that once were fields: JSON inside a text. */
import { findTextFault } from "#api/codec/json-syntax.ts";
import type { Taint } from "#api/generated/core.v1.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { validateTaints } from "./taint.ts";

const TAINTS = "scheduler.alpha.kubernetes.io/taints";
const AVOID_PODS = "scheduler.alpha.kubernetes.io/preferAvoidPods";

type Json = Readonly<Record<string, unknown>>;

export function validateNodeAnnotations(
  annotations: Readonly<Record<string, string>>,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  const taints = annotations[TAINTS];
  if (taints) errors.push(...validateTaintText(taints, path));
  const avoided = annotations[AVOID_PODS];
  if (avoided) errors.push(...validateAvoidPodsText(avoided, path));
  return errors;
}

function validateTaintText(text: string, path: Path): FieldError[] {
  const fault = findTextFault(text);
  if (fault !== undefined) return [invalid(path, TAINTS, fault)];
  const value: unknown = JSON.parse(text);
  if (value === null) return [];
  if (!Array.isArray(value)) {
    const found = goKind(value);
    const detail = `json: cannot unmarshal ${found} into Go value of type []core.Taint`;
    return [invalid(path, TAINTS, detail)];
  }
  return validateTaints(value.map(readTaint), path.child(TAINTS));
}

/** Names of fields are read whatever their case. */
function readTaint(value: unknown): Taint {
  const fields = new Map(
    Object.entries((value ?? {}) as Json).map(([key, item]) => [key.toLowerCase(), item]),
  );
  const text = (key: string) => String(fields.get(key) ?? "");
  return { key: text("key"), value: text("value"), effect: text("effect") };
}

function validateAvoidPodsText(text: string, path: Path): FieldError[] {
  const fault = findTextFault(text);
  if (fault !== undefined) return [invalid(path.child("AvoidPods"), AVOID_PODS, fault)];
  const entries = (JSON.parse(text) as Json | null)?.preferAvoidPods;
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry: Json | null, i) => {
    const at = path.child(AVOID_PODS).index(i).child("PodSignature");
    const signature = entry?.podSignature as Json | undefined;
    const controller = signature?.podController as Json | undefined;
    if (!controller) return [required(at, "")];
    if (controller.controller !== false) return [];
    const detail = "must point to a controller";
    return [invalid(at.child("PodController", "Controller"), false, detail)];
  });
}

function goKind(value: unknown): string {
  return typeof value === "boolean" ? "bool" : typeof value;
}
