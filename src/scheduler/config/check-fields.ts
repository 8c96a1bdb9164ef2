/**
 * Refuses fields that a KubeSchedulerConfiguration or the arguments of a built-in plugin do not
 * have, and values of another type, in upstream's words. Arguments of other plugins are theirs to
 * check.
 */
import { parseDuration } from "#api/meta/duration.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { ConfigError } from "./config-error.ts";
import {
  CONFIGURATION,
  type FieldForm,
  type GoType,
  PLUGIN_ARGS,
  type Struct,
} from "./config-fields.ts";
import { type Json, listOf, objectOf } from "./json-values.ts";

const GROUP = "kubescheduler.config.k8s.io";
const STRICT = "strict decoding error: ";

/** Throws ConfigError if there are fields that do not exist, or values of another type. */
export function checkFields(config: Json): void {
  const wrong = wrongType(config, CONFIGURATION, [], CONFIGURATION);
  if (wrong !== undefined) throw new ConfigError(wrong);
  const faults = unknownFields(config, CONFIGURATION, "");
  for (const [i, profile] of listOf(config.profiles).entries()) {
    for (const [k, one] of listOf(objectOf(profile).pluginConfig).entries()) {
      const { name, args } = objectOf(one);
      const fault = faultInArgs(String(name ?? ""), objectOf(args));
      if (fault === undefined) continue;
      const where = `decoding .profiles[${i}].pluginConfig[${k}]: `;
      if (!fault.isStrict) throw new ConfigError(where + fault.text);
      faults.push(where + STRICT + fault.text);
    }
  }
  if (faults.length > 0) throw new ConfigError(STRICT + faults.join(", "));
}

function faultInArgs(
  plugin: string,
  args: Json,
): { readonly isStrict: boolean; readonly text: string } | undefined {
  const form = PLUGIN_ARGS.get(plugin);
  if (form === undefined) return undefined;
  const kind = String(args.kind ?? form.struct);
  if (kind !== form.struct) {
    const types = `not of type ${form.struct}.${GROUP}, got ${kind}.${GROUP}`;
    return { isStrict: false, text: `args for plugin ${plugin} were ${types}` };
  }
  const decoding = `decoding args for plugin ${plugin}: `;
  const wrong = wrongType(args, form, [], form);
  if (wrong !== undefined) return { isStrict: false, text: decoding + wrong };
  const faults = unknownFields(args, form, "");
  if (faults.length === 0) return undefined;
  return { isStrict: true, text: decoding + STRICT + faults.join(", ") };
}

/** In the order of their names. */
function unknownFields(value: unknown, form: FieldForm, path: string): string[] {
  if (typeof form === "string") return [];
  if (!isStruct(form)) {
    return listOf(value).flatMap((one, i) => unknownFields(one, form[0], `${path}[${i}]`));
  }
  return Object.entries(objectOf(value))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, inner]) => {
      const at = path === "" ? name : `${path}.${name}`;
      if (!Object.hasOwn(form.fields, name)) return [`unknown field ${goQuote(at)}`];
      return unknownFields(inner, form.fields[name]!, at);
    });
}

/** The first value of another type than its field has, as Go's decoder says it. */
function wrongType(
  value: unknown,
  form: FieldForm,
  path: readonly string[],
  inside: Struct,
): string | undefined {
  if (value === undefined || value === null || form === "any") return undefined;
  const refused = (type: string): string =>
    `json: cannot unmarshal ${jsonKind(value, form)} into Go struct field ${inside.struct}.${path.join(".")} of type ${type}`;
  if (typeof form === "string") {
    if (!fits(value, form)) return refused(form === "duration" ? "string" : form);
    const parsed = form === "duration" ? parseDuration(String(value)) : undefined;
    return parsed?.ok === false ? parsed.error : undefined;
  }
  if (!isStruct(form)) {
    if (!Array.isArray(value)) return refused(goTypeOf(form));
    return firstOf(value, (one) => wrongType(one, form[0], path, inside));
  }
  if (typeof value !== "object" || Array.isArray(value)) return refused(goTypeOf(form));
  return firstOf(Object.entries(value), ([name, inner]) =>
    Object.hasOwn(form.fields, name)
      ? wrongType(inner, form.fields[name]!, [...path, name], form)
      : undefined,
  );
}

function firstOf<T>(
  items: readonly T[],
  find: (item: T) => string | undefined,
): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function fits(value: unknown, type: GoType): boolean {
  switch (type) {
    case "string":
    case "duration":
      return typeof value === "string";
    case "bool":
      return typeof value === "boolean";
    case "float32":
      return typeof value === "number";
    case "int32":
    case "int64":
      return Number.isInteger(value);
    default:
      return true;
  }
}

function jsonKind(value: unknown, form: FieldForm): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  if (typeof value !== "number") return typeof value;
  return form === "int32" || form === "int64" ? `number ${value}` : "number";
}

function goTypeOf(form: FieldForm): string {
  if (typeof form === "string") return form;
  if (!isStruct(form)) return `[]${goTypeOf(form[0])}`;
  const { struct } = form;
  const isShared = struct.startsWith("LeaderElection") || struct.startsWith("ClientConnection");
  return `${isShared ? "v1alpha1" : "v1"}.${struct}`;
}

function isStruct(form: Exclude<FieldForm, GoType>): form is Struct {
  return "struct" in form;
}
