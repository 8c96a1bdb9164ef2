/** Who wrote which fields: every write leaves its manager's name on what it changed. */
import { applySteps } from "#api/apply/apply.ts";
import { keepTimes } from "#api/apply/keep-times.ts";
import { type LargeNodes, largeNodesOf } from "#api/apply/large-nodes.ts";
import { resetFieldsOf } from "#api/apply/reset-fields.ts";
import { managedFieldsAfter } from "#api/apply/update.ts";
import { isSoundLive } from "#api/apply/validate.ts";
import type { FieldFilter, VersionSeam } from "#api/apply/versions.ts";
import { normalizeSteps, parseJsonSteps } from "#api/codec/json.ts";
import type { YamlAsJson } from "#api/codec/yaml.ts";
import { type Draft, defaultSteps, type Kind, type KubeObject } from "#api/kind.ts";
import { membersOf, objectOf } from "#api/members.ts";
import {
  badRequestStatus,
  failure,
  type Result,
  success,
  unknownStatus,
} from "#api/meta/status.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { isObject, type JsonObject } from "#api/patch/json-value.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import { andThen, type MaybePromise } from "#lib/async/maybe-promise.ts";
import type { Steps } from "#lib/async/steps.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import type { KindRegistry } from "../registry/kind-registry.ts";
import { bodyYaml } from "../request/body-bytes.ts";
import type { WriteOptions } from "../request/query-options.ts";
import { strictWarnings } from "../request/strict-warnings.ts";
import type { VerbRequest } from "../request/verb.ts";
import { withSentLists } from "./empty-lists.ts";

/** What is written, if not an object of the resource's own kind: a Scale, a TokenRequest. */
export interface TrackedType {
  readonly schema: StructSchema;
  readonly apiVersion: string;
}

export interface Tracking {
  readonly type?: TrackedType;
  readonly nodes?: LargeNodes | undefined;
}

/** Sets managedFields of a new object. */
export function trackCreate(
  verb: VerbRequest,
  draft: Draft<KubeObject>,
  options: WriteOptions,
  tracking?: Tracking,
): void {
  trackUpdate(verb, undefined, draft, options, tracking);
}

/** Sets managedFields of an object that the server itself creates. */
export function trackOwnCreate(kind: Kind, draft: Draft<KubeObject>, nowMs: number): void {
  trackOwnUpdate(kind, undefined, draft, "", nowMs);
}

/** Sets managedFields of an object that the server itself changes, if it changes it. */
export function trackOwnUpdate(
  kind: Kind,
  old: KubeObject | undefined,
  draft: Draft<KubeObject>,
  subresource: string,
  nowMs: number,
): void {
  const managedFields = managedFieldsAfter({
    ...typeOf(kind),
    live: old && membersOf(old),
    next: membersOf(draft),
    manager: "kube-apiserver",
    subresource,
    nowIso: timeFromMs(nowMs),
    filter: resetFieldsOf(kind, subresource),
  });
  setManagers(draft, managedFields);
}

/** A part of the work of `trackCreate` and `trackUpdate`, in steps where an object is large. */
export function prepareTracking(
  { request: { body }, resource, pace }: VerbRequest,
  draft: Draft<KubeObject>,
): MaybePromise<Tracking | undefined> {
  if (body.form !== "bytes" || body.bytes.length < LARGE_BODY_BYTES) return undefined;
  const nodes = pace.run(largeNodesOf(membersOf(draft), typedSchema(resource.kind)));
  return andThen(nodes, (found) => ({ nodes: found }));
}

const LARGE_BODY_BYTES = 64 * 1024;

/** Sets managedFields of the draft that is to replace `old`. */
export function trackUpdate(
  verb: VerbRequest,
  old: KubeObject | undefined,
  draft: Draft<KubeObject>,
  options: WriteOptions,
  { type, nodes }: Tracking = {},
): void {
  const { schema, apiVersion } = type ?? typeOf(verb.resource.kind);
  const next = type === undefined ? asKept(verb.resource.kind, draft) : draft;
  if (type === undefined && verb.resource.kind.custom !== undefined) {
    // What is sent and then not kept (a status) need not be valid, and upstream gives up on such objects.
    const fits = [next, old].every(
      (one) => one === undefined || isSoundLive(membersOf(one), schema),
    );
    if (!fits) {
      setManagers(draft, undefined);
      return;
    }
  }
  const managedFields = managedFieldsAfter({
    schema,
    apiVersion,
    live: old && membersOf(old),
    next: membersOf(withSentLists(next, schema, verb.request)),
    manager: options.fieldManager || managerFromUserAgent(verb.request.headers["user-agent"] ?? ""),
    nodes,
    ...circumstances(verb),
  });
  setManagers(draft, managedFields);
}

/** What is left of a draft when it has been stored and read again: that is what its writer owns. */
function asKept(kind: Kind, draft: Draft<KubeObject>): Draft<KubeObject> {
  const { storedAs } = kind;
  if (storedAs === undefined || storedAs.remote !== undefined) return draft;
  return storedAs.fromStored(storedAs.toStored(draft)) as Draft<KubeObject>;
}

function setManagers(
  { metadata }: Draft<KubeObject>,
  managedFields: readonly JsonObject[] | undefined,
): void {
  if (managedFields === undefined) delete metadata.managedFields;
  else metadata.managedFields = managedFields as NonNullable<typeof metadata.managedFields>;
}

/** Server-side apply: the object as the configuration in the request wants it, with defaults. */
export async function applyConfiguration(
  verb: VerbRequest,
  current: KubeObject | undefined,
  bytes: Uint8Array,
  options: WriteOptions,
  kind: Kind = verb.resource.kind,
): Promise<Result<Draft<KubeObject>>> {
  const yaml = bodyYaml(verb.request.body, bytes);
  if (verb.pace.isDue) await verb.pace.rest();
  const configuration = await verb.pace.run(readConfiguration(yaml, options, verb.warn));
  if (!configuration.ok) return configuration;
  if (verb.pace.isDue) await verb.pace.rest();
  const { schema, apiVersion } = typeOf(kind);
  const applying = applySteps({
    schema,
    live: current && membersOf(current),
    applied: configuration.value,
    manager: options.fieldManager,
    apiVersion,
    kind: kind.names.kind,
    force: options.force,
    ...circumstances(verb),
  });
  const applied = await verb.pace.run(applying);
  if (!applied.ok) return applied;
  if (verb.pace.isDue) await verb.pace.rest();
  const decoded = await verb.pace.run(normalizeSteps(kind.schema(), applied.value));
  if (!decoded.ok) return failure(unknownStatus(notConverted(configuration.value, decoded.error)));
  const { kind: _, apiVersion: __, ...rest } = decoded.value;
  const draft = { kind: kind.names.kind, apiVersion, metadata: {}, ...rest };
  // What no field is declared for was refused above, so nothing has to be pruned.
  await verb.pace.run(defaultSteps(kind, draft as Draft<KubeObject>));
  return success(draft as Draft<KubeObject>);
}

/** The next object, with the old times if nothing but times has changed. */
export function sameButTimes(next: KubeObject, old: KubeObject): KubeObject {
  return objectOf(keepTimes(membersOf(next), membersOf(old)));
}

/** What is said of a configuration whose text fits the schema and yet is no value of its type. */
function notConverted({ apiVersion, kind, metadata }: JsonObject, error: string): string {
  const version = String(apiVersion);
  const type = `${version.includes("/") ? version : `/${version}`}, Kind=${kind}`;
  const { namespace = "", name = "" } = isObject(metadata) ? metadata : {};
  return `failed to convert new object (${namespace}/${name}; ${type}) to proper version: unable to convert unstructured object to ${type}: ${error}`;
}

function* readConfiguration(
  json: YamlAsJson,
  { fieldValidation }: WriteOptions,
  warn: (text: string) => void,
): Steps<Result<JsonObject>> {
  if (!json.ok)
    return failure(
      badRequestStatus(`error decoding YAML: error converting YAML to JSON: ${json.error}`),
    );
  const parsed = yield* parseJsonSteps(json.json);
  if (!parsed.ok) return failure(badRequestStatus(`error decoding YAML: ${parsed.error}`));
  if (parsed.value !== null && !isObject(parsed.value)) {
    const type = Array.isArray(parsed.value) ? "array" : typeof parsed.value;
    const error = `json: cannot unmarshal ${type} into Go value of type map[string]interface {}`;
    return failure(
      badRequestStatus(
        `error decoding YAML: error unmarshaling JSON: while decoding JSON: ${error}`,
      ),
    );
  }
  if (fieldValidation === "Strict" && json.strictErrors.length > 0) {
    const error = `error converting YAML to JSON: ${json.strictErrors.join(", ")}`;
    return failure(badRequestStatus(`error strict decoding YAML: ${error}`));
  }
  if (fieldValidation === "Warn") for (const text of strictWarnings(json.strictErrors)) warn(text);
  return success(parsed.value ?? {});
}

function typeOf(kind: Kind): TrackedType {
  return { schema: typedSchema(kind), apiVersion: kind.apiVersion };
}

function typedSchema(kind: Kind): StructSchema {
  return kind.custom?.appliedSchema() ?? kind.schema();
}

interface Circumstances {
  readonly subresource: string;
  readonly nowIso: string;
  readonly filter: FieldFilter | undefined;
  readonly versions: VersionSeam;
}

function circumstances({ info, resource, parts }: VerbRequest): Circumstances {
  const { kind, stored } = resource;
  return {
    subresource: info.subresource,
    nowIso: timeFromMs(parts.clock.nowMs()),
    filter: resetFieldsOf(stored.kind, info.subresource),
    versions: versionSeam(kind, parts.resources),
  };
}

function versionSeam(own: Kind, resources: KindRegistry): VersionSeam {
  const inVersion = (apiVersion: string): Kind | undefined => {
    const kind = resources.findKind(apiVersion, own.names.kind);
    // What only a webhook converts cannot be compared in another version: its managers are forgotten.
    return (kind?.storedAs ?? own.storedAs)?.remote === undefined ? kind : undefined;
  };
  return {
    schema: (apiVersion) => {
      const kind = inVersion(apiVersion);
      return kind && typedSchema(kind);
    },
    convert: (object, apiVersion) => {
      const given = objectOf(object);
      const stored: KubeObject = own.storedAs?.toStored(given) ?? given;
      return membersOf(inVersion(apiVersion)!.storedAs?.fromStored(stored) ?? stored);
    },
  };
}

const MANAGER_BYTES_MAX = 128;
const PLAIN = /^[ -~]*$/;
const PRINTABLE = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** The part of the User-Agent before the first slash, as far as it is printable. */
function managerFromUserAgent(userAgent: string): string {
  const [name = ""] = userAgent.split("/", 1);
  if (name.length <= MANAGER_BYTES_MAX && PLAIN.test(name)) return name;
  let manager = "";
  for (const character of name) {
    if (!PRINTABLE.test(character)) continue;
    if (utf8Length(manager) + utf8Length(character) > MANAGER_BYTES_MAX) break;
    manager += character;
  }
  return manager;
}
