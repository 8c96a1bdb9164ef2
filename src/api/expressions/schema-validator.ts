/**
 * Runs the rules (`x-kubernetes-validations`) of a custom resource's schema on its objects. Rules are
 * compiled at their first use, one in each step. An object may cost 10,000,000, a single rule 1,000,000.
 */
import { type CompiledExpression, compile } from "#api/cel/environment.ts";
import { createProgram, type Evaluation, type Program } from "#api/cel/evaluate/program.ts";
import { Optional, type Value } from "#api/cel/values/value.ts";
import {
  type DefaultRuleValidator,
  SCHEMA_RULES_COST_MAX,
  type SchemaRuleValidator,
} from "#api/expressions.ts";
import type { JSONSchemaProps, ValidationRule } from "#api/generated/apiextensions.v1.ts";
import { resolveFieldPath } from "#api/kinds/apiextensions/json-schema/field-path.ts";
import { goMapJson } from "#api/meta/go-json.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  OMITTED,
  required,
} from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { finish, type Steps } from "#lib/async/steps.ts";
import { lazy } from "#lib/lazy.ts";
import type { DeclaredType } from "./declared-type.ts";
import { kubernetesCallCosts } from "./run-costs.ts";
import { refersToOld, ruleEnvironment } from "./schema-rules.ts";
import { schemaType } from "./schema-type.ts";
import { typedValue } from "./typed-data.ts";

const RULE_COST_MAX = 1_000_000;
/** More are not listed. */
const ERRORS_MAX = 1_001;
const MESSAGE_BYTES_MAX = 5 * 1024;
const OUT_OF_BUDGET =
  "validation failed due to running out of cost budget, no further validation rules will be run";

type Json = Readonly<Record<string, unknown>>;

/** Undefined if the schema has no rules. */
export function schemaRuleValidator(schema: JSONSchemaProps): SchemaRuleValidator | undefined {
  const root = validatorOf(schema, true);
  if (root === undefined) return undefined;
  return function* (object, old, path) {
    const run = new Run();
    yield* run.validate(root, object, old, path, old !== undefined);
    return run.errors;
  };
}

/** Defaults are new values: rules that an unchanged value breaks count. */
export function schemaDefaultRuleValidator(
  schema: JSONSchemaProps,
  isResource: boolean,
): DefaultRuleValidator | undefined {
  const root = validatorOf(schema, isResource);
  if (root === undefined) return undefined;
  return (value, path, budget) => {
    const unchanged = new Run({ budget, ratchets: false });
    finish(unchanged.validate(root, value, value, path, true));
    if (unchanged.errors.length > 0) return unchanged;
    const created = new Run({ budget, ratchets: false });
    finish(created.validate(root, value, undefined, path, false));
    return { errors: created.errors, budget: Math.min(unchanged.budget, created.budget) };
  };
}

/** The part of a schema that has rules, or has parts that have. */
interface Node {
  readonly schema: JSONSchemaProps;
  readonly type: DeclaredType | undefined;
  readonly rules: readonly (() => CompiledRule)[];
  readonly properties: ReadonlyMap<string, Node>;
  readonly additional: Node | undefined;
  readonly items: Node | undefined;
}

type CompiledRule = ValidationRule & {
  /** Undefined for a rule that does not compile, which only old servers accepted. */
  readonly program: Program | undefined;
  readonly error: string;
  readonly usesOld: boolean;
  readonly messageProgram: Program | undefined;
};

function validatorOf(schema: JSONSchemaProps, isResource: boolean): Node | undefined {
  const child = (one: JSONSchemaProps): Node | undefined =>
    validatorOf(one, one["x-kubernetes-embedded-resource"] === true);
  const properties = new Map<string, Node>();
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const node = child(property);
    if (node !== undefined) properties.set(name, node);
  }
  const { additionalProperties, items } = schema;
  const additional =
    typeof additionalProperties === "object"
      ? child(additionalProperties as JSONSchemaProps)
      : undefined;
  const item =
    items === undefined || Array.isArray(items) ? undefined : child(items as JSONSchemaProps);
  const given = schema["x-kubernetes-validations"] ?? [];
  const isBare = given.length === 0 && properties.size === 0;
  if (isBare && additional === undefined && item === undefined) return undefined;
  const type = given.length === 0 ? undefined : schemaType(schema, isResource, "selfType");
  const rules = type === undefined ? [] : given.map((rule) => lazy(() => compileRule(rule, type)));
  return { schema, type, rules, properties, additional, items: item };
}

function compileRule(rule: ValidationRule, type: DeclaredType): CompiledRule {
  const environment = ruleEnvironment(type, rule.optionalOldSelf === true);
  const options = { costMax: RULE_COST_MAX, callCosts: kubernetesCallCosts };
  const program = ({ expr, checked }: CompiledExpression): Program =>
    createProgram(environment, { expr, checked }, options);
  const compiled = compile(environment, rule.rule);
  const { messageExpression = "" } = rule;
  const message = messageExpression === "" ? undefined : compile(environment, messageExpression);
  return {
    ...rule,
    program: compiled.ok ? program(compiled.value) : undefined,
    error: compiled.ok ? "" : compiled.error,
    usesOld: compiled.ok && refersToOld(compiled.value),
    messageProgram: message?.ok ? program(message.value) : undefined,
  };
}

/** The check of one object. */
class Run {
  readonly errors: FieldError[] = [];
  /** Rules that an unchanged value breaks are let pass. */
  readonly #ratchets: boolean;
  #budget: number;

  constructor({ budget = SCHEMA_RULES_COST_MAX, ratchets = true } = {}) {
    this.#budget = budget;
    this.#ratchets = ratchets;
  }

  get budget(): number {
    return this.#budget;
  }

  /** `correlated`: `old` is what the value was before. */
  *validate(
    node: Node,
    value: unknown,
    old: unknown,
    path: Path,
    correlated: boolean,
  ): Steps<void> {
    if (value === null || value === undefined || this.#budget < 0) return;
    if (this.errors.length >= ERRORS_MAX) return;
    yield* this.#rules(node, value, old ?? undefined, path, correlated);
    if (this.#budget < 0) return;
    if (Array.isArray(value)) yield* this.#items(node, value, old, path, correlated);
    else if (typeof value === "object") {
      yield* this.#members(node, value as Json, old, path, correlated);
    }
  }

  *#items(
    node: Node,
    items: readonly unknown[],
    old: unknown,
    path: Path,
    known: boolean,
  ): Steps<void> {
    if (node.items === undefined) return;
    const isMap = node.schema["x-kubernetes-list-type"] === "map";
    const before = isMap && Array.isArray(old) ? oldItemsByKey(old, node.schema) : undefined;
    for (const [i, item] of items.entries()) {
      yield* this.validate(node.items, item, before?.(item), path.index(i), known && isMap);
    }
  }

  *#members(node: Node, value: Json, old: unknown, path: Path, known: boolean): Steps<void> {
    const isAtomic = node.schema["x-kubernetes-map-type"] === "atomic";
    const before = isObject(old) && !isAtomic ? old : {};
    const correlated = known && !isAtomic;
    for (const [key, member] of Object.entries(value)) {
      const oldMember = Object.hasOwn(before, key) ? before[key] : undefined;
      const property = node.properties.get(key);
      if (property !== undefined) {
        yield* this.validate(property, member, oldMember, path.child(key), correlated);
      } else if (node.additional !== undefined) {
        yield* this.validate(node.additional, member, oldMember, path.key(key), correlated);
      }
    }
  }

  *#rules(node: Node, value: unknown, old: unknown, path: Path, correlated: boolean): Steps<void> {
    const { schema, type, rules } = node;
    if (type === undefined || rules.length === 0) return;
    if (this.#budget <= 0) {
      this.#stop(path, schema.type, OUT_OF_BUDGET);
      return;
    }
    const isUnchanged = this.#ratchets && correlated && old !== undefined && jsonEqual(value, old);
    const self = typedValue(value, type);
    const oldSelf = old === undefined ? undefined : typedValue(old, type);
    for (const compiled of rules) {
      if (this.#budget < 0) return;
      const rule = compiled();
      const isOptional = rule.optionalOldSelf === true;
      if (rule.usesOld && oldSelf === undefined && !isOptional) continue;
      if (!rule.usesOld && isUnchanged) continue; // the update did not bring what is wrong
      const find = (name: string): Value | undefined => {
        if (name === "self") return self;
        if (name !== "oldSelf") return undefined;
        if (!isOptional) return oldSelf;
        return oldSelf === undefined ? Optional.none : new Optional(oldSelf);
      };
      this.#rule(rule, schema, value, path, find);
      yield;
    }
  }

  #rule(
    rule: CompiledRule,
    schema: JSONSchemaProps,
    value: unknown,
    path: Path,
    find: (name: string) => Value | undefined,
  ): void {
    const { type } = schema;
    if (rule.program === undefined) {
      this.errors.push(invalid(path, type, `rule compile error: ${rule.error}`));
      return;
    }
    const result = rule.program.evaluate({ find });
    if (result.cost > this.#budget) {
      this.#stop(path, type, OUT_OF_BUDGET);
      return;
    }
    this.#budget -= result.cost;
    if (!result.ok) this.#failed(rule, result, path, type);
    if (!result.ok || result.value === true) return;
    const at = fieldPathOf(rule, schema, path);
    const said = this.#message(rule, at, type, find);
    if (said === "stopped") return;
    const shown = type === "object" || type === "array" ? OMITTED : value;
    this.errors.push(errorOf(rule, at, shown, said.text ?? defaultMessage(rule)));
  }

  #failed(
    rule: ValidationRule,
    { error, costExceeded }: Extract<Evaluation, { ok: false }>,
    path: Path,
    type: string | undefined,
  ): void {
    const name = ruleName(rule);
    if (costExceeded) {
      const detail = `'${error}': no further validation rules will be run due to call cost exceeds limit for rule: ${name}`;
      this.#stop(path, type, detail);
      return;
    }
    const detail = error.startsWith("no such overload")
      ? `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${name}`
      : `${error} evaluating rule: ${name}`;
    this.errors.push(invalid(path, type, detail));
  }

  /** A message that cannot be made is replaced by that of the rule. */
  #message(
    { messageProgram, messageExpression = "" }: CompiledRule,
    path: Path,
    type: string | undefined,
    find: (name: string) => Value | undefined,
  ): { readonly text: string | undefined } | "stopped" {
    if (messageProgram === undefined) return { text: undefined };
    const result = messageProgram.evaluate({ find });
    if (result.cost > this.#budget) {
      const detail =
        "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run";
      this.#stop(path, type, detail);
      return "stopped";
    }
    if (!result.ok && result.costExceeded) {
      const detail = `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${goQuote(messageExpression)}`;
      this.#stop(path, type, detail);
      return "stopped";
    }
    this.#budget -= result.cost;
    const text = result.ok && typeof result.value === "string" ? result.value.trim() : "";
    const isUsable = text !== "" && Buffer.byteLength(text) <= MESSAGE_BYTES_MAX;
    return { text: isUsable && !text.includes("\n") ? text : undefined };
  }

  #stop(path: Path, type: string | undefined, detail: string): void {
    this.errors.push(invalid(path, type, detail));
    this.#budget = -1;
  }
}

function errorOf(
  { reason }: ValidationRule,
  path: Path,
  value: unknown,
  detail: string,
): FieldError {
  switch (reason) {
    case "FieldValueForbidden":
      return forbidden(path, detail);
    case "FieldValueRequired":
      return required(path, detail);
    case "FieldValueDuplicate":
      return duplicate(path, value);
    default:
      return invalid(path, value, detail);
  }
}

function fieldPathOf(
  { fieldPath = "" }: ValidationRule,
  schema: JSONSchemaProps,
  path: Path,
): Path {
  if (fieldPath === "") return path;
  const resolved = resolveFieldPath(fieldPath, schema, true);
  if (!resolved.ok) return path;
  let at = path;
  let inside: JSONSchemaProps | undefined = schema;
  for (const step of resolved.steps) {
    const property: JSONSchemaProps | undefined = inside?.properties?.[step];
    at = property === undefined ? at.key(step) : at.child(step);
    inside = property ?? (inside?.additionalProperties as JSONSchemaProps | undefined);
  }
  return at;
}

function defaultMessage(rule: ValidationRule): string {
  const { message = "" } = rule;
  return message === "" ? `failed rule: ${ruleName(rule)}` : message.trim();
}

function ruleName({ message = "", rule }: ValidationRule): string {
  return (message === "" ? rule : message).trim();
}

/** The item of a map list that has the same keys; the first of several. */
function oldItemsByKey(
  items: readonly unknown[],
  { "x-kubernetes-list-map-keys": keys = [] }: JSONSchemaProps,
): (item: unknown) => unknown {
  const keyOf = (item: Json): string => goMapJson(keys.map((key) => item[key] ?? null));
  const byKey = new Map<string, unknown>();
  for (const item of items) {
    if (isObject(item) && !byKey.has(keyOf(item))) byKey.set(keyOf(item), item);
  }
  return (item) => (isObject(item) ? byKey.get(keyOf(item)) : undefined);
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
