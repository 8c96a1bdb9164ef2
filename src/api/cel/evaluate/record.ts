/** An object that an expression makes: `Object.spec{replicas: 3}`. */
import { objectType, type Type } from "../types/type.ts";
import { isEqual } from "../values/compare.ts";
import { toJson } from "../values/json.ts";
import { CelObject, type Value } from "../values/value.ts";

export class RecordValue extends CelObject {
  readonly type: Type;
  readonly fields: ReadonlyMap<string, Value>;

  constructor(typeName: string, fields: ReadonlyMap<string, Value>) {
    super();
    this.type = objectType(typeName);
    this.fields = fields;
  }

  override toJson(): unknown {
    return Object.fromEntries(Array.from(this.fields, ([name, value]) => [name, toJson(value)]));
  }

  override field(name: string): Value | undefined {
    return this.fields.get(name);
  }

  equals(other: CelObject): boolean {
    if (!(other instanceof RecordValue) || other.fields.size !== this.fields.size) return false;
    for (const [name, value] of this.fields) {
      const theirs = other.fields.get(name);
      if (theirs === undefined || !isEqual(value, theirs)) return false;
    }
    return true;
  }
}
