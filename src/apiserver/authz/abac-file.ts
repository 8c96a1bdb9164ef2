/**
 * The file of `--authorization-policy-file`: one policy in each line, as JSON; empty lines and lines
 * that begin with # do not count. Policies of v1beta1 say what they are; those of the form before it
 * need not, and mean everything where they say nothing.
 */
import { goQuote } from "#api/meta/go-quote.ts";
import { messageOf } from "#lib/caught.ts";

/** `*` stands for anything where resources, groups, namespaces and paths are named. */
export interface AbacPolicy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

const GROUP = "abac.authorization.kubernetes.io";
const AUTHENTICATED = "system:authenticated";

/** Throws for the first line that is no policy, naming file and line. */
export function readAbacFile(text: string, path: string): AbacPolicy[] {
  return text.split("\n").flatMap((ended, at) => {
    const line = ended.replace(/\r$/, "");
    if (/^\s*(#|$)/.test(line)) return [];
    try {
      return readPolicy(line);
    } catch (error) {
      const message = messageOf(error);
      throw new Error(`error reading policy file ${path}, line ${at + 1}: ${line}: ${message}`);
    }
  });
}

type Fields = Readonly<Record<string, unknown>>;

function readPolicy(line: string): AbacPolicy {
  const fields = parseObject(line);
  const type = { apiVersion: typeText(fields, "apiVersion"), kind: typeText(fields, "kind") };
  const { apiVersion = `${GROUP}/v0`, kind = "Policy" } = type;
  if (kind !== "Policy" || !VERSIONS.has(apiVersion)) {
    throw new Error(`no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)}`);
  }
  if (apiVersion === `${GROUP}/v0`) return readUnversioned(fields);
  if (type.kind === undefined) throw new Error("a policy of v1beta1 needs its kind");
  return readVersioned(fields);
}

const VERSIONS: ReadonlySet<string> = new Set([`${GROUP}/v0`, `${GROUP}/v1beta1`]);

function readVersioned({ spec }: Fields): AbacPolicy {
  if (spec !== undefined && !isObject(spec) && spec !== null) {
    throw mismatch(spec, "Policy.spec", "v1beta1.PolicySpec");
  }
  const read = readerOf((spec ?? {}) as Fields, "PolicySpec.spec");
  const [user, group] = [read.text("user"), read.text("group")];
  return {
    ...(user === "*" || group === "*" ? { user: "", group: AUTHENTICATED } : { user, group }),
    readonly: read.truth("readonly"),
    apiGroup: read.text("apiGroup"),
    resource: read.text("resource"),
    namespace: read.text("namespace"),
    nonResourcePath: read.text("nonResourcePath"),
  };
}

/** What it does not name it allows: any resource, any namespace, and with neither any path. */
function readUnversioned(fields: Fields): AbacPolicy {
  const read = readerOf(fields, "Policy");
  const [user, group] = [read.text("user"), read.text("group")];
  const [resource, namespace] = [read.text("resource"), read.text("namespace")];
  const anyone = user === "*" || group === "*" || (user === "" && group === "");
  return {
    ...(anyone ? { user: "", group: AUTHENTICATED } : { user, group }),
    readonly: read.truth("readonly"),
    apiGroup: "*",
    resource: resource || "*",
    namespace: namespace || "*",
    nonResourcePath: resource === "" && namespace === "" ? "*" : "",
  };
}

function parseObject(line: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new Error(`couldn't get version/kind; json parse error: ${messageOf(error)}`);
  }
  if (isObject(value)) return value;
  throw new Error("couldn't get version/kind; json parse error: it is no object");
}

function typeText(fields: Fields, name: string): string | undefined {
  const value = fields[name] ?? "";
  if (typeof value === "string") return value === "" ? undefined : value;
  const { message } = mismatch(value, `.${name}`, "string");
  throw new Error(`couldn't get version/kind; json parse error: ${message}`);
}

function readerOf(fields: Fields, place: string) {
  return {
    text(name: string): string {
      const value = fields[name] ?? "";
      if (typeof value === "string") return value;
      throw mismatch(value, `${place}.${name}`, "string");
    },
    truth(name: string): boolean {
      const value = fields[name] ?? false;
      if (typeof value === "boolean") return value;
      throw mismatch(value, `${place}.${name}`, "bool");
    },
  };
}

/** Upstream's words for a value of another type. */
function mismatch(value: unknown, place: string, wanted: string): Error {
  const given = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return new Error(
    `json: cannot unmarshal ${given} into Go struct field ${place} of type ${wanted}`,
  );
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
