/** What type parameters stand for, found out by comparing types. */
import { DYN, isDyn, isDynOrError, isSameType, type Type } from "./type.ts";

export class Inference {
  readonly #known = new Map<string, Type>();
  /** What was known before each change, to undo a comparison that fails. */
  readonly #trail: [name: string, before: Type | undefined][] = [];
  #count = 0;

  fresh(): Type {
    return { kind: "param", name: `_var${this.#count++}`, params: [] };
  }

  /** Whether a value of one type may stand for the other; learns from success only. */
  assign(a: Type, b: Type): boolean {
    return this.#attempt(() => this.#assignable(a, b));
  }

  assignAll(as: readonly Type[], bs: readonly Type[]): boolean {
    return this.#attempt(() => this.#allAssignable(as, bs));
  }

  /** With what is known put in; `complete` makes what is unknown dynamic. */
  substitute(type: Type, complete: boolean): Type {
    if (type.kind === "param") {
      const known = this.#known.get(type.name);
      if (known !== undefined) return this.substitute(known, complete);
      return complete ? DYN : type;
    }
    if (type.params.length === 0) return type;
    return { ...type, params: type.params.map((param) => this.substitute(param, complete)) };
  }

  #attempt(compare: () => boolean): boolean {
    const mark = this.#trail.length;
    if (compare()) return true;
    while (this.#trail.length > mark) {
      const [name, before] = this.#trail.pop()!;
      if (before === undefined) this.#known.delete(name);
      else this.#known.set(name, before);
    }
    return false;
  }

  #learn(name: string, type: Type): void {
    this.#trail.push([name, this.#known.get(name)]);
    this.#known.set(name, type);
  }

  #allAssignable(as: readonly Type[], bs: readonly Type[]): boolean {
    return as.length === bs.length && as.every((a, i) => this.#assignable(a, bs[i]!));
  }

  #assignable(a: Type, b: Type): boolean {
    if (b.kind === "param") {
      const result = this.#standsFor(a, b);
      if (result !== "open") return result === "fits";
    }
    if (a.kind === "param") return this.#standsFor(b, a) === "fits";
    if (isDynOrError(a) || isDynOrError(b)) return true;
    if (a.kind === "null") return isNullable(b);
    if (b.kind === "null") return isNullable(a);
    switch (a.kind) {
      case "type":
        return b.kind === "type";
      case "opaque":
      case "list":
      case "map":
        return a.kind === b.kind && a.name === b.name && this.#allAssignable(a.params, b.params);
      default:
        return a.kind === b.kind && a.name === b.name;
    }
  }

  /** "open" if the parameter has no meaning yet and cannot take this one. */
  #standsFor(type: Type, param: Type): "fits" | "clashes" | "open" {
    if (type.kind === "param" && type.name === param.name) return "fits";
    const known = this.#known.get(param.name);
    if (known !== undefined) {
      if (isSameType(type, known)) return "fits";
      if (!this.#assignable(type, known)) return "clashes";
      const general = mostGeneral(type, known);
      if (!this.#mentions(general, param)) this.#learn(param.name, general);
      return "fits";
    }
    if (this.#mentions(type, param)) return "open";
    this.#learn(param.name, type);
    return "fits";
  }

  #mentions(type: Type, param: Type): boolean {
    if (type.kind === "param") {
      if (type.name === param.name) return true;
      const known = this.#known.get(type.name);
      return known !== undefined && this.#mentions(known, param);
    }
    return type.params.some((inner) => this.#mentions(inner, param));
  }
}

export function mostGeneral(a: Type, b: Type): Type {
  return isEqualOrLessSpecific(a, b) ? a : b;
}

function isEqualOrLessSpecific(a: Type, b: Type): boolean {
  if (isDyn(a) || a.kind === "param") return true;
  if (isDyn(b) || b.kind === "param" || a.kind !== b.kind) return false;
  switch (a.kind) {
    case "type":
      return true;
    case "opaque":
    case "list":
    case "map":
      return (
        a.name === b.name &&
        a.params.length === b.params.length &&
        a.params.every((param, i) => isEqualOrLessSpecific(param, b.params[i]!))
      );
    default:
      return isSameType(a, b);
  }
}

function isNullable({ kind }: Type): boolean {
  return ["null", "opaque", "object", "duration", "timestamp"].includes(kind);
}
