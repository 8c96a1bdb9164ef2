/** The validation rules of a custom resource's schema: do they compile, and what may they cost. */
import { COST_MAX } from "#api/cel/cost/estimate.ts";
import { staticCost } from "#api/cel/cost/static-cost.ts";
import {
  type CompiledExpression,
  compile,
  compileSteps,
  type Environment,
  extendEnvironment,
} from "#api/cel/environment.ts";
import { BOOL, optionalType, STRING } from "#api/cel/types/type.ts";
import type { StoredSchemaRules } from "#api/expressions.ts";
import type { JSONSchemaProps, ValidationRule } from "#api/generated/apiextensions.v1.ts";
import { type FieldError, forbidden, invalid } from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import type { Path } from "#api/validation/path.ts";
import type { Steps } from "#lib/async/steps.ts";
import { baseEnvironment } from "./base-environment.ts";
import { type DeclaredType, sizesIn, typesIn } from "./declared-type.ts";
import { kubernetesCosts } from "./library-costs.ts";
import { REQUEST_BYTES_MAX, schemaType } from "./schema-type.ts";

const RULE_COST_MAX = 10_000_000;
const SCHEMA_COST_MAX = 100_000_000;
const MOST_EXPENSIVE_COUNT = 4;

/** In steps: each rule is compiled. */
export function* schemaRuleErrors(
  schema: JSONSchemaProps,
  stored: StoredSchemaRules,
  path: Path,
): Steps<FieldError[]> {
  const visit = new SchemaVisit(stored.unchanged);
  yield* visit.schema(schema, path, { isResource: true, count: 1, uncorrelated: undefined });
  return [...visit.errors, ...visit.totalErrors(path)];
}

interface Place {
  readonly isResource: boolean;
  /** How often the place may occur in one object; undefined if that has no limit. */
  readonly count: number | undefined;
  /** Below this path old and new values cannot be correlated. */
  readonly uncorrelated: Path | undefined;
}

class SchemaVisit {
  readonly errors: FieldError[] = [];
  readonly #suppressCosts: boolean;
  #total = 0;
  #expensive: { readonly path: Path; readonly cost: number }[] = [];

  constructor(suppressCosts: boolean) {
    this.#suppressCosts = suppressCosts;
  }

  *schema(schema: JSONSchemaProps, path: Path, place: Place): Steps<void> {
    const inner = { ...place, count: countWithin(schema, place.count), isResource: false };
    const { additionalProperties, properties = {}, items } = schema;
    if (typeof additionalProperties === "object") {
      const values = additionalProperties as JSONSchemaProps;
      yield* this.#child(values, path.child("additionalProperties"), inner);
    }
    for (const [name, property] of Object.entries(properties)) {
      yield* this.#child(property, path.child("properties").key(name), inner);
    }
    if (items !== undefined && !Array.isArray(items)) {
      const isMap = schema["x-kubernetes-list-type"] === "map";
      const uncorrelated = isMap ? inner.uncorrelated : (inner.uncorrelated ?? path);
      yield* this.#child(items as JSONSchemaProps, path.child("items"), { ...inner, uncorrelated });
    }
    yield* this.#rules(schema, path, place);
  }

  /** What the whole schema costs too much. */
  totalErrors(path: Path): FieldError[] {
    if (this.#total <= SCHEMA_COST_MAX) return [];
    const name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    const part =
      "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    return [
      ...this.#expensive.map((rule) => forbidden(rule.path, part)),
      forbidden(path, overBudget(name, this.#total, SCHEMA_COST_MAX)),
    ];
  }

  #child(schema: JSONSchemaProps, path: Path, place: Place): Steps<void> {
    const isResource = schema["x-kubernetes-embedded-resource"] === true;
    return this.schema(schema, path, { ...place, isResource });
  }

  *#rules(schema: JSONSchemaProps, path: Path, place: Place): Steps<void> {
    const rules = schema["x-kubernetes-validations"] ?? [];
    if (rules.length === 0) return;
    const type = schemaType(schema, place.isResource, "selfType");
    if (type === undefined) return;
    yield;
    const fitting = Math.floor(REQUEST_BYTES_MAX / (type.bytesMin + 1));
    const count = place.count ?? fitting;
    for (const [i, rule] of rules.entries()) {
      const at = path.child("x-kubernetes-validations").index(i);
      yield* this.#rule(rule, type, count, place.uncorrelated, at);
      yield;
    }
  }

  *#rule(
    rule: ValidationRule,
    type: DeclaredType,
    count: number,
    uncorrelated: Path | undefined,
    path: Path,
  ): Steps<void> {
    if (rule.rule.trim() === "") return;
    const at = path.child("rule");
    const environment = ruleEnvironment(type, rule.optionalOldSelf === true);
    yield;
    const compiled = yield* compileSteps(environment, rule.rule);
    yield;
    const value = () => internalForm("apiextensions.v1.ValidationRule", rule);
    if (!compiled.ok) {
      this.errors.push(invalid(at, value(), `compilation failed: ${compiled.error}`));
    } else if (compiled.value.type !== BOOL) {
      this.errors.push(invalid(at, value(), "cel expression must evaluate to a bool"));
    } else {
      this.#observe("estimated rule cost", costOf(compiled.value, type) * count, at);
      yield;
      this.#message(rule, environment, type, value, path.child("messageExpression"));
    }
    const usesOld = compiled.ok && compiled.value.type === BOOL && refersToOld(compiled.value);
    if (usesOld && uncorrelated !== undefined) {
      const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`;
      this.errors.push(invalid(at, rule.rule, detail));
    } else if (!usesOld && rule.optionalOldSelf !== undefined) {
      const detail = "may not be set if oldSelf is not used in rule";
      this.errors.push(invalid(path.child("optionalOldSelf"), rule.optionalOldSelf, detail));
    }
  }

  #message(
    { messageExpression = "" }: ValidationRule,
    environment: Environment,
    type: DeclaredType,
    value: () => unknown,
    path: Path,
  ): void {
    if (messageExpression === "") return;
    const compiled = compile(environment, messageExpression);
    if (!compiled.ok) {
      const detail = `messageExpression compilation failed: ${compiled.error}`;
      this.errors.push(invalid(path, value(), detail));
    } else if (compiled.value.type !== STRING) {
      this.errors.push(invalid(path, value(), "messageExpression must evaluate to a string"));
    } else {
      this.#observe("estimated messageExpression cost", costOf(compiled.value, type), path);
    }
  }

  #observe(name: string, estimated: number, path: Path): void {
    const cost = Math.min(estimated, COST_MAX);
    if (!this.#suppressCosts && cost > RULE_COST_MAX) {
      this.errors.push(forbidden(path, overBudget(name, cost, RULE_COST_MAX)));
    }
    this.#total += cost;
    if (cost < SCHEMA_COST_MAX / 100) return;
    this.#expensive = [...this.#expensive, { path, cost }]
      .sort((a, b) => b.cost - a.cost)
      .slice(0, MOST_EXPENSIVE_COUNT);
  }
}

/** `self` and `oldSelf` of the type. */
export function ruleEnvironment(type: DeclaredType, optionalOld: boolean): Environment {
  const oldSelf = optionalOld ? optionalType(type.type) : type.type;
  return extendEnvironment(baseEnvironment(), { self: type.type, oldSelf }, typesIn(type));
}

function costOf({ expr, checked }: CompiledExpression, type: DeclaredType): number {
  // Whatever variable a path begins with, its sizes are those of the schema.
  return staticCost(expr, checked, kubernetesCosts(sizesIn(() => type))).max;
}

export function refersToOld({ checked }: CompiledExpression): boolean {
  for (const reference of checked.references.values()) {
    if (reference.kind === "ident" && reference.name === "oldSelf") return true;
  }
  return false;
}

function countWithin(schema: JSONSchemaProps, count: number | undefined): number | undefined {
  const { type, additionalProperties, maxProperties, maxItems } = schema;
  if (count === undefined) return undefined;
  const isMap = type === "object" && additionalProperties !== undefined;
  if (!isMap && type !== "array") return count;
  const max = isMap ? maxProperties : maxItems;
  return max === undefined ? undefined : Math.min(count * Math.max(max, 0), COST_MAX);
}

function overBudget(name: string, cost: number, max: number): string {
  const factor = cost / max;
  const advice =
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
  const shown = factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  return `${name} exceeds budget by factor of ${factor > 100 ? "more than 100x" : shown} ${advice}`;
}
