/** Seeded values for a schema: mostly right, sometimes wrong, null, unknown or missing. */
import type { Dice } from "../../load/dice.ts";
import type { Schema } from "./schemas.ts";

const TEXTS = ["a", "b", "abc", "abcabcabc", "", "2024-01-02T03:04:05Z", "10.0.0.1", "A-b", "ä"];
const WRONG = ["text", 7, 1.5, true, null, [], {}, [null], { x: 1 }];

/** `isRight`: of the right type, though it may still break a rule. */
export function valueFor(dice: Dice, schema: Schema, isRight = dice.chance(0.95)): unknown {
  if (!isRight) return dice.pick(WRONG);
  if (schema.nullable && dice.chance(0.2)) return null;
  if (schema.enum !== undefined && dice.chance(0.8)) return dice.pick(schema.enum);
  if (schema["x-kubernetes-int-or-string"]) return dice.pick<unknown>([1, "50%"]);
  switch (schema.type) {
    case "string":
      return dice.pick(TEXTS);
    case "integer":
      return dice.integer(12);
    case "number":
      return dice.pick([0.5, 1, 1.25, 11]);
    case "boolean":
      return dice.chance(0.5);
    case "array":
      return listFor(dice, schema);
    default:
      return objectFor(dice, schema);
  }
}

function listFor(dice: Dice, { items }: Schema): unknown[] {
  return Array.from({ length: dice.integer(4) }, () => valueFor(dice, items as Schema));
}

function objectFor(dice: Dice, schema: Schema): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  if (schema["x-kubernetes-embedded-resource"] && dice.chance(0.9)) {
    Object.assign(value, { apiVersion: "v1", kind: "Pod", metadata: { name: "x", bad: 1 } });
  }
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    if (dice.chance(0.7)) value[name] = valueFor(dice, inner as Schema);
    else if (dice.chance(0.1)) value[name] = null;
  }
  const { additionalProperties: additional } = schema;
  if (typeof additional === "object") {
    for (const name of ["k1", "k2", "k3"].slice(dice.integer(4))) {
      value[name] = valueFor(dice, additional as Schema);
    }
  }
  if (dice.chance(0.1)) value.unknown = dice.pick<unknown>([1, { deep: [1] }, "x"]);
  return value;
}
