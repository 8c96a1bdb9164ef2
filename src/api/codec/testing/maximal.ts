/** Objects with every field filled, for tests: whatever a codec forgets is missing afterwards. */
import type { Field, Scalar, Schema, StructSchema } from "#api/schema/schema.ts";

/** How often a type may stand inside itself. */
const SELF_NESTING_MAX = 2;

/** In normal form. `seed` varies the values, not the shape. */
export function maximalObject(schema: StructSchema, seed = 0): Record<string, unknown> {
  return new Filler(seed).struct(schema, new Map());
}

const TYPE_META: ReadonlySet<string> = new Set(["kind", "apiVersion"]);

type Nesting = ReadonlyMap<readonly Field[], number>;

class Filler {
  #count: number;

  constructor(seed: number) {
    this.#count = seed;
  }

  struct(schema: StructSchema, nesting: Nesting): Record<string, unknown> {
    const inside = new Map(nesting).set(schema.fields, (nesting.get(schema.fields) ?? 0) + 1);
    const isNested = nesting.size > 0;
    const object: Record<string, unknown> = {};
    for (const field of schema.fields) {
      // Kind and version of an object inside another are not on the protobuf wire.
      if (isNested && field.number === 0 && TYPE_META.has(field.name)) continue;
      const value = this.#value(field.schema, field.name, inside);
      if (value !== undefined) object[field.name] = value;
    }
    return object;
  }

  #value(schema: Schema, name: string, nesting: Nesting): unknown {
    const n = ++this.#count;
    switch (schema.shape) {
      case "scalar":
        return scalar(schema.scalar, name, n);
      case "struct":
        return this.#nested(schema, nesting);
      case "any":
        return schema.struct === undefined
          ? freeJson(n)
          : this.#union(schema.goType, schema.struct, nesting);
      case "list": {
        const items = [0, 1].map(() => this.#value(schema.item, name, nesting));
        return items.some((item) => item === undefined) ? undefined : items;
      }
      case "map": {
        const first = this.#value(schema.value, name, nesting);
        const second = this.#value(schema.value, name, nesting);
        return first === undefined ? undefined : { [`a${n}`]: first, [`b${n}/é`]: second };
      }
    }
  }

  #nested(schema: StructSchema, nesting: Nesting): unknown {
    const isDeep = (nesting.get(schema.fields) ?? 0) >= SELF_NESTING_MAX;
    return isDeep ? undefined : this.struct(schema, nesting);
  }

  #union(goType: string, struct: StructSchema, nesting: Nesting): unknown {
    const inner = this.#nested(struct, nesting);
    if (goType.endsWith("OrBool")) return inner ?? true;
    if (goType.endsWith("OrStringArray")) return inner ?? ["x", "y"];
    return inner === undefined ? undefined : [inner, { type: "second" }];
  }
}

function scalar(kind: Scalar, name: string, n: number): unknown {
  switch (kind) {
    case "string":
    case "UID":
      return `${name}-${n}${n % 7 === 0 ? "-ünï©ødé-🎈" : ""}`;
    case "bool":
      return true;
    case "int32":
      return n % 2 === 0 ? n : -n;
    case "int":
    case "int64":
      return n % 3 === 0 ? 9_007_199_254_740_993n + BigInt(n) : n * 1_000_003;
    case "float64":
      return n + 0.5;
    case "bytes":
      return btoa(`bytes-${n}`);
    case "Time":
      return `2024-02-29T10:${two(n)}:00Z`;
    case "MicroTime":
      return `2024-02-29T10:${two(n)}:00.${String(n).padStart(6, "0")}Z`;
    case "Duration":
      return `${(n % 50) + 1}m0s`;
    case "Quantity":
      return n % 2 === 0 ? `${n * 1000 + 1}m` : `${n * 2 + 1}Mi`;
    case "IntOrString":
      return n % 2 === 0 ? n : `port-${n}`;
  }
}

function freeJson(n: number): unknown {
  return { number: n, text: "t", list: [1, null, { deep: true }], big: 9_223_372_036_854_775_807n };
}

function two(n: number): string {
  return String(n % 60).padStart(2, "0");
}
