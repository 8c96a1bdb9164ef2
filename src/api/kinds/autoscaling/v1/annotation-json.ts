/**
 * Reads what an annotation of autoscaling/v1 carries. Keys match whatever their case (behavior is
 * written with Go's names); a text that does not fit its type is as good as none.
 */

import { ROUND_TRIP_ANNOTATIONS } from "#api/kinds/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { canonicalQuantity } from "#api/meta/quantity.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import type { Scalar, Schema, StructSchema } from "#api/schema/schema.ts";
import { parseForeignJson } from "#lib/json/forged-keys.ts";

const TYPES = {
  metrics: { list: true, struct: "autoscaling.v1.MetricSpec" },
  behavior: { list: false, struct: "autoscaling.v2.HorizontalPodAutoscalerBehavior" },
  currentMetrics: { list: true, struct: "autoscaling.v1.MetricStatus" },
  conditions: { list: true, struct: "autoscaling.v1.HorizontalPodAutoscalerCondition" },
} as const;

export function readAnnotation<T>(
  annotations: Readonly<Record<string, string>>,
  key: keyof typeof TYPES,
): T | undefined {
  const text = annotations[ROUND_TRIP_ANNOTATIONS[key]];
  if (text === undefined) return undefined;
  const { list, struct } = TYPES[key];
  const schema = schemaOf(struct);
  try {
    const value: unknown = parseForeignJson(text);
    return (list ? readList(schema, value) : read(schema, value)) as T;
  } catch {
    return undefined;
  }
}

class Misfit extends Error {}

function read(schema: Schema, value: unknown): unknown {
  switch (schema.shape) {
    case "scalar":
      return readScalar(schema.scalar, value);
    case "list":
      return readList(schema.item, value);
    case "map":
      return Object.fromEntries(
        Object.entries(recordOf(value)).map(([key, item]) => [key, read(schema.value, item)]),
      );
    case "struct":
      return readStruct(schema, recordOf(value));
    case "any":
      return value;
  }
}

function readStruct(schema: StructSchema, record: Readonly<Record<string, unknown>>): unknown {
  const byLowerName = new Map(
    Object.entries(record).map(([key, value]) => [key.toLowerCase(), value]),
  );
  const fields: Record<string, unknown> = {};
  for (const { name, schema: type, pointer, omitEmpty } of schema.fields) {
    const value = byLowerName.get(name.toLowerCase());
    if (value !== undefined && value !== null) fields[name] = read(type, value);
    else if (!pointer && !omitEmpty) fields[name] = zeroOf(type);
  }
  return fields;
}

function readList(item: Schema, value: unknown): unknown[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw new Misfit();
  return value.map((entry) => read(item, entry ?? {}));
}

function readScalar(scalar: Scalar, value: unknown): unknown {
  switch (scalar) {
    case "Quantity": {
      const text = typeof value === "number" ? String(value) : value;
      const canonical = typeof text === "string" ? canonicalQuantity(text) : undefined;
      if (canonical === undefined) throw new Misfit();
      return canonical;
    }
    case "int32":
    case "int64":
      if (!Number.isSafeInteger(value)) throw new Misfit();
      return value;
    case "bool":
      if (typeof value !== "boolean") throw new Misfit();
      return value;
    default:
      if (typeof value !== "string") throw new Misfit();
      return value;
  }
}

function zeroOf(schema: Schema): unknown {
  if (schema.shape === "struct") return readStruct(schema, {});
  if (schema.shape !== "scalar") return null;
  if (schema.scalar === "Quantity") return "0";
  return schema.scalar.startsWith("int") ? 0 : "";
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Misfit();
  return value as Readonly<Record<string, unknown>>;
}
