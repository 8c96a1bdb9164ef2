/**
 * How a whole struct reads inside an error message: the server prints its internal value, whose
 * fields carry Go names, stand in declaration order and are all there, zero or not
 * (`{"Strategy":"X","RollingUpdate":null}`). The fact tables know the fields; the structs that are
 * declared differently inside are in `internal-fields.ts`.
 *
 * Only made when a rule is broken, so it reads the tables anew each time instead of keeping them.
 */
import { sentValue } from "#api/codec/empty-collections.ts";
import {
  type FactTable,
  type FieldFacts,
  parseFacts,
  parseType,
  type TypeExpression,
} from "#api/facts/parse.ts";
import { factTables } from "#api/facts/tables.ts";
import { INTERNAL_FIELDS, INTERNAL_SHAPES } from "./internal-fields.ts";

/** `type` as the fact tables name it, `rbac.v1.RoleRef`; may be `[]T` or `*T`. */
export function internalForm(type: string, value: unknown): unknown {
  const home = /([a-z0-9]+\.v[a-z0-9]+)\./.exec(type)?.[1] ?? "";
  return new Former().of(parseType(type), value, home);
}

type Fields = Readonly<Record<string, unknown>>;

class Former {
  readonly #tables = new Map<string, FactTable>();

  of(type: TypeExpression, value: unknown, home: string): unknown {
    if (type.form === "name") return this.#named(type.name, value, home);
    if (value === undefined || value === null) return null;
    if (type.form === "pointer") return this.of(type.of, value, home);
    if (type.form === "list") return (value as unknown[]).map((v) => this.of(type.of, v, home));
    const entries = Object.entries(value as Fields).sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries.map(([key, v]) => [key, this.of(type.of, v, home)]));
  }

  #named(name: string, value: unknown, home: string): unknown {
    const zero = ZERO_VALUES[name];
    if (zero !== undefined) return value ?? zero;
    const split = name.lastIndexOf(".");
    const tableName = split < 0 ? home : name.slice(0, split);
    const local = name.slice(split + 1);

    // metav1 is the same inside and outside: JSON names, empty fields left out.
    if (tableName === "meta.v1") return value ?? {};
    const shape = INTERNAL_SHAPES[`${tableName}.${local}`];
    if (shape !== undefined) {
      return shape(value, (type, v) => this.of(parseType(type), v, tableName));
    }
    const table = this.#table(tableName);
    const alias = table?.aliases.get(local);
    if (alias !== undefined) return this.of(alias.type, value, tableName);
    if (table?.structs.get(local) === undefined) return value ?? null;
    return this.#struct(table, local, (value ?? {}) as Fields, tableName);
  }

  #struct(table: FactTable, name: string, fields: Fields, home: string): Fields {
    const form: Record<string, unknown> = {};
    const members = table.structs.get(name)!.members;
    for (const member of members) {
      if (member.member === "inline") {
        if (member.type === "TypeMeta") continue;
        Object.assign(form, this.#named(member.type, fields, home));
      } else if (isEmbeddedMeta(member)) {
        Object.assign(form, fields[member.name]);
      } else {
        form[goName(member.name)] = this.of(member.type, sentValue(fields, member.name), home);
      }
    }
    const order = INTERNAL_FIELDS[`${home}.${name}`];
    return order === undefined ? form : reorder(form, order);
  }

  #table(name: string): FactTable | undefined {
    const known = this.#tables.get(name);
    if (known !== undefined) return known;
    const text = factTables[name];
    if (text === undefined) return undefined;
    const table = parseFacts(text);
    this.#tables.set(name, table);
    return table;
  }
}

const ZERO_VALUES: Readonly<Record<string, unknown>> = {
  string: "",
  UID: "",
  bool: false,
  int: 0,
  int32: 0,
  int64: 0,
  float64: 0,
  Quantity: "0",
  IntOrString: 0,
  Duration: "0s",
};

/** `metadata` is embedded inside, so its own fields stand beside the others. */
function isEmbeddedMeta(member: FieldFacts): boolean {
  return member.name === "metadata" && member.type.form === "name";
}

/** `order`: Go names, each with `=` and the name that `goName` would give where it differs. */
function reorder(form: Fields, order: string): Fields {
  const words = order.split(" ").map((word) => word.split("=") as [string, string?]);
  return Object.fromEntries(words.map(([name, derived = name]) => [name, form[derived]]));
}

const INITIALISMS =
  /^(api|ca|cel|cidr|cpu|csi|dns|fc|fs|gce|gmsa|grpc|http|id|ip|iqn|iscsi|json|nfs|os|pd|pid|pkix|rbd|se|ssl|tcp|tls|ttl|tty|uid|url)(?=s?([A-Z]|$))/;

/** `apiGroup` → `APIGroup`, `nodeName` → `NodeName`. */
function goName(jsonName: string): string {
  const initialism = INITIALISMS.exec(jsonName)?.[1];
  if (initialism !== undefined) return initialism.toUpperCase() + jsonName.slice(initialism.length);
  return jsonName.slice(0, 1).toUpperCase() + jsonName.slice(1);
}
