/**
 * Server-side apply: lays a configuration over the live object, takes away what its applier no
 * longer mentions and no other manager owns, and reports conflicts with other managers unless forced.
 *
 * Promises:
 * 1. Objects stay as they are. The result is not defaulted: that is the caller's next step.
 * 2. An apply that changes nothing keeps the applier's time; a new applier who only agrees gets none.
 */
import {
  badRequestStatus,
  failure,
  type Result,
  success,
  unknownStatus,
} from "#api/meta/status.ts";
import { type JsonObject, jsonEqual } from "#api/patch/json-value.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import { finish, type Steps } from "#lib/async/steps.ts";
import { conflictsStatus } from "./conflicts.ts";
import { emptyObject } from "./empty-object.ts";
import { isEmptySet } from "./field-set.ts";
import { fieldsOf } from "./fields-of.ts";
import { type LargeNodes, largeNodesOf } from "./large-nodes.ts";
import { allowedByLastApplied, withLastApplied } from "./last-applied.ts";
import { managedFieldsOf, metadataOf, withManagedFields } from "./managed-object.ts";
import { decodeManagers, encodeManagers, isSameManager, type Manager } from "./managers.ts";
import { mergeApplied } from "./merge.ts";
import {
  type Conflict,
  findConflicts,
  reconcileManagers,
  withoutLost,
  withoutSystemFields,
} from "./ownership.ts";
import { pruned } from "./prune.ts";
import { ItemError } from "./typed-values.ts";
import { appliedFault, liveFault } from "./validate.ts";
import { Changes, type FieldFilter, filtered, type VersionSeam, Versions } from "./versions.ts";

export interface ApplyInput {
  readonly schema: StructSchema;
  /** What is there, in normal form; undefined if the apply creates it. */
  readonly live: JsonObject | undefined;
  /** The configuration as it was sent. */
  readonly applied: JsonObject;
  readonly manager: string;
  /** Of the request: the configuration must say the same. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly subresource: string;
  readonly force: boolean;
  /** RFC 3339, whole seconds. */
  readonly nowIso: string;
  readonly filter?: FieldFilter | undefined;
  readonly versions?: VersionSeam | undefined;
}

/** Client-side apply hands over to this name without conflicts. */
const KUBECTL = "kubectl";
const BEFORE_FIRST_APPLY = "before-first-apply";

export function applyPatch(input: ApplyInput): Result<JsonObject> {
  return finish(applySteps(input));
}

/** The same in steps: objects of many fields take long. */
export function* applySteps(input: ApplyInput): Steps<Result<JsonObject>> {
  try {
    return yield* applyTo(input);
  } catch (error) {
    if (!(error instanceof LiveError)) throw error;
    return failure(unknownStatus(error.message));
  }
}

/** Validation allows live lists with duplicate keys; apply to those fails. */
class LiveError extends Error {}

function* onLive<T>(
  { live, schema, applied }: ApplyInput,
  failing: string,
  work: () => Steps<T>,
): Steps<T> {
  try {
    return yield* work();
  } catch (error) {
    if (!(error instanceof ItemError)) throw error;
    const why = liveFault(live ?? {}, schema) ?? error.message;
    throw new LiveError(failing.replace("%v", describe(metadataOf(live ?? {}), applied)) + why);
  }
}

const NO_FIRST =
  "failed to create manager for existing fields: failed to convert new object (%v) to smd typed: ";

function* applyTo(input: ApplyInput): Steps<Result<JsonObject>> {
  const { schema, live, applied, apiVersion, manager, nowIso } = input;
  const fault = inputFault(input);
  if (fault !== undefined) return failure(badRequestStatus(fault));
  const decoded = decodeManagers(managedFieldsOf(live));
  if (!decoded.ok) {
    return failure(unknownStatus(`failed to decode managed fields: ${decoded.error}`));
  }
  const versions = new Versions(apiVersion, schema, input.versions);
  const current = withManagedFields(live ?? emptyObject(schema), undefined);
  const managers =
    decoded.value.length > 0
      ? decoded.value
      : yield* onLive(input, NO_FIRST, () => firstManagers(input, current, versions));
  yield;
  const invalid = appliedFault(applied, schema);
  if (invalid !== undefined) {
    const subject = describe(metadataOf(applied), applied);
    return failure(unknownStatus(`failed to create typed patch object (${subject}): ${invalid}`));
  }
  yield;
  const nodes = yield* largeNodesOf(applied, schema);
  const outcome = yield* onLive(input, "failed to create typed live object (%v): ", () =>
    decide(input, current, managers, versions, nodes),
  );
  yield;
  const conflicts = unforgiven(input, current, outcome.conflicts);
  if (conflicts.length > 0) return failure(conflictsStatus(conflicts));

  const { object, others, applier, last } = outcome;
  const changed = !jsonEqual(object, current);
  yield;
  const self = { ...applier, time: changed ? nowIso : last?.time };
  const same = last?.fields === self.fields && last.apiVersion === self.apiVersion;
  const owner = same && last.time === self.time ? last : self;
  const owners = isEmptySet(self.fields) ? others : [...others, owner];
  const entries = encodeManagers(owners, managedFieldsOf(live));
  yield;
  const result = withManagedFields(changed ? object : current, entries);
  return success(manager === KUBECTL ? withLastApplied(result, applied) : result);
}

interface Decision {
  /** The object as applied, without managedFields. */
  readonly object: JsonObject;
  readonly others: readonly Manager[];
  readonly applier: Manager;
  /** The applier as it was before. */
  readonly last: Manager | undefined;
  readonly conflicts: readonly Conflict[];
}

function* decide(
  input: ApplyInput,
  current: JsonObject,
  managers: readonly Manager[],
  versions: Versions,
  nodes: LargeNodes,
): Steps<Decision> {
  const { schema, applied, apiVersion, manager, subresource, filter, force } = input;
  const known = reconcileManagers(managers, versions);
  yield;
  const fields = fieldsOf(applied, schema, nodes);
  yield;
  const stated = filtered(fields, filter);
  yield;
  const named: Manager = {
    name: manager,
    operation: "Apply",
    apiVersion,
    subresource,
    time: undefined,
    fields: withoutSystemFields(stated),
  };
  const last = known.find((one) => isSameManager(one, named));
  // Who applies the same fields again keeps its set, and nothing can have become superfluous.
  const same = last?.apiVersion === apiVersion && jsonEqual(last.fields, named.fields);
  const applier = same ? { ...named, fields: last.fields } : named;
  const others = known.filter((one) => one !== last);
  yield;
  const merged = mergeApplied(current, applied, schema);
  yield;
  const owners = [...others, { ...named, fields: stated }];
  const object = same ? merged : pruned(merged, owners, last, versions);
  yield;
  const changes = new Changes(versions, current, object, filter, nodes);
  const left = withoutLost(others, changes);
  yield;
  const conflicts = force ? [] : findConflicts(others, changes);
  return { object, others: left, applier, last, conflicts };
}

/** The "before-first-apply" manager, which owns all fields of an object without managedFields. */
function* firstManagers(
  { live, schema, apiVersion, nowIso, subresource, filter }: ApplyInput,
  current: JsonObject,
  versions: Versions,
): Steps<readonly Manager[]> {
  if (live === undefined) return [];
  const changes = new Changes(versions, emptyObject(schema), current, filter);
  const { changed } = changes.at(apiVersion)!;
  yield;
  const fields = withoutSystemFields(changed);
  if (isEmptySet(fields)) return [];
  return [
    {
      name: BEFORE_FIRST_APPLY,
      operation: "Update",
      apiVersion,
      subresource,
      time: nowIso,
      fields,
    },
  ];
}

/** Conflicts that stay: what kubectl applied from the client side it may take over. */
function unforgiven(
  { manager, schema, apiVersion }: ApplyInput,
  current: JsonObject,
  conflicts: readonly Conflict[],
): readonly Conflict[] {
  if (conflicts.length === 0 || manager !== KUBECTL) return conflicts;
  const allowed = allowedByLastApplied(current, schema, apiVersion);
  return allowed === undefined ? conflicts : allowed(conflicts);
}

function inputFault({ applied, apiVersion, kind }: ApplyInput): string | undefined {
  if (applied.apiVersion !== apiVersion || applied.kind !== kind) {
    return `invalid object type: ${describeKind(applied)}`;
  }
  const { managedFields } = metadataOf(applied);
  return Array.isArray(managedFields) ? "metadata.managedFields must be nil" : undefined;
}

/** `default/a; apps/v1, Kind=Deployment`: where the configuration says it belongs. */
function describe({ namespace, name }: JsonObject, applied: JsonObject): string {
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  return `${text(namespace)}/${text(name)}; ${describeKind(applied)}`;
}

function describeKind({ apiVersion, kind }: JsonObject): string {
  const text = typeof apiVersion === "string" ? apiVersion : "";
  const version = text.includes("/") ? text : `/${text}`;
  return `${version}, Kind=${typeof kind === "string" ? kind : ""}`;
}
