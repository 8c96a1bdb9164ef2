/**
 * Carries StorageVersionMigrations out: every object of a resource is written once more, in the version
 * and with the encryption that is used for storage now.
 *
 * - The migration notes the resourceVersion of the moment in its status. Objects that were written after
 *   that need no migration.
 * - Of the migrations of one resource, the oldest runs; its condition Running is set while it does. The
 *   CustomResourceDefinition of the resource has the condition StorageMigrating meanwhile.
 * - An object is written by an empty server-side apply with its uid and resourceVersion. A conflict
 *   means that another client has written or deleted it: the objects are listed again.
 * - When all is written, the definition's `storedVersions` has the storage version only, unless the
 *   definition changed meanwhile.
 */
import type { CustomResourceDefinition } from "#api/generated/apiextensions.v1.ts";
import type { Condition, GroupResource } from "#api/generated/meta.v1.ts";
import type {
  StorageVersionMigration,
  StorageVersionMigrationStatus,
} from "#api/generated/storagemigration.v1beta1.ts";
import type { KubeObject } from "#api/kind.ts";
import { customResourceDefinitionKind } from "#api/kinds/apiextensions/v1/custom-resource-definition.ts";
import { storageVersionMigrationKind } from "#api/kinds/storagemigration/v1beta1/storage-version-migration.ts";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import {
  defineController,
  idle,
  type Key,
  type Outcome,
  type Reader,
  type RefusalOutcome,
  type RefusedWrite,
  type Resource,
  recheckIn,
} from "#runtime/controller.ts";
import { discoverResources } from "#runtime/discovery.ts";
import { patch, updateStatus, type Write } from "#runtime/writes.ts";
import { findCondition, withCondition } from "./shared/conditions.ts";

const NEEDED_VERBS = ["update", "patch", "list"];
/** A new custom resource may take a while to appear in discovery. */
const DISCOVERY_PATIENCE_MS = 60_000;
const DISCOVERY_RETRY_MS = 5_000;
const PAGE = 500;
const WORKERS = 5;
/** A namespace that cannot be: a list of it is empty, and has the resourceVersion of the moment. */
const NO_NAMESPACE = "fake-svm-namespace";

interface StoredObject {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface MigrationState {
  readonly migration: StorageVersionMigration;
  /** Another one of the same resource runs, or was there before. */
  readonly mustWait: boolean;
  readonly definition: CustomResourceDefinition | undefined;
  /** As discovery has it; undefined if it is not served. */
  readonly resource: Resource | undefined;
  /** The resourceVersion of the moment, for a migration that has none yet. */
  readonly resourceVersion: string | undefined;
  /** What may be stored in an old form, if the migration runs. */
  readonly objects: readonly StoredObject[];
}

export const storageVersionMigrator = defineController<MigrationState | undefined>({
  name: "storage-version-migrator-controller",
  rule: "every object of the resource is written once more in the version that is stored now",
  workers: WORKERS,
  feeds: [
    {
      kind: storageVersionMigrationKind,
      keys: ({ spec }, caches): readonly Key[] =>
        [...caches(storageVersionMigrationKind).list()]
          .filter((other) => isSameResource(other.spec.resource, spec.resource))
          .map(({ metadata }) => ({ name: metadata.name ?? "" })),
    },
  ],
  observe: async (caches, { name }, reader) => {
    const all = caches(storageVersionMigrationKind);
    const migration = all.get(undefined, name);
    if (migration === undefined) return undefined;
    return await observe(migration, [...all.list()], reader);
  },
  decide,
  decideRefused,
});

async function observe(
  migration: StorageVersionMigration,
  all: readonly StorageVersionMigration[],
  reader: Reader,
): Promise<MigrationState> {
  const { spec, status } = migration;
  const others = all.filter(
    (other) =>
      other.metadata.uid !== migration.metadata.uid &&
      isSameResource(other.spec.resource, spec.resource) &&
      !isFinished(other.status),
  );
  const mustWait = others.some(
    (other) => isTrue(other.status, "Running") || isOlder(other, migration),
  );
  const none = { definition: undefined, resource: undefined, resourceVersion: undefined };
  const nothing = { migration, mustWait, ...none, objects: [] };
  if (isFinished(status) && !isTrue(status, "Running")) return nothing;
  const definition = await definitionOf(reader, spec.resource);
  if (isFinished(status)) return { ...nothing, definition };
  const resource = await resourceOf(reader, spec.resource);
  const known = { ...nothing, definition, resource };
  if (resource === undefined || !isMigratable(resource)) return known;
  if (status.resourceVersion === undefined) {
    return { ...known, resourceVersion: await resourceVersionOf(reader, resource) };
  }
  if (!isTrue(status, "Running")) return known;
  return { ...known, objects: await objectsBefore(reader, resource, status.resourceVersion) };
}

function decide(state: MigrationState | undefined, nowMs: number): Outcome {
  if (state === undefined) return idle;
  const { migration, resource, objects } = state;
  const { status, metadata } = migration;
  const isRunning = isTrue(status, "Running");
  if (isFinished(status)) return isRunning ? { writes: finish(state, nowMs) } : idle;
  if (resource === undefined) {
    const sinceMs = timeToMs(metadata.creationTimestamp ?? timeFromMs(nowMs));
    if (nowMs - sinceMs < DISCOVERY_PATIENCE_MS) return recheckIn(DISCOVERY_RETRY_MS);
    return { writes: [failed(migration, "resource does not exist in discovery", nowMs)] };
  }
  if (!isMigratable(resource)) {
    const { apiVersion, names } = resource;
    const named = JSON.stringify(`${apiVersion}, Resource=${names.plural}`);
    const text = `resource ${named} does not support discovery operations: [${NEEDED_VERBS.join(" ")}]`;
    return { writes: [failed(migration, text, nowMs)] };
  }
  if (status.resourceVersion === undefined) {
    const { resourceVersion } = state;
    return {
      writes: [withStatus(migration, { ...status, ...{ resourceVersion: resourceVersion! } })],
    };
  }
  if (!isRunning) return state.mustWait ? idle : { writes: begin(state, nowMs) };
  const done = conditioned(migration, "Succeeded", "StorageVersionMigrationSucceeded", "", nowMs);
  return { writes: [objects.map((object) => rewrite(resource, object)), done] };
}

/** What the server could not do may be possible later; what it refuses ends the migration. */
function decideRefused(
  state: MigrationState | undefined,
  { write, status }: RefusedWrite,
  nowMs: number,
): RefusalOutcome {
  const { code = 0, reason, message } = status;
  const mayPass = code >= 500 || code === 429 || reason === "Conflict" || reason === "Timeout";
  const isRewrite = write.op === "patch" && write.patchType === "apply";
  if (state === undefined || mayPass || !isRewrite) return {};
  const text = `migration encountered unhandled error: ${message ?? ""}`;
  return { writes: [failed(state.migration, text, nowMs)] };
}

function begin({ migration, definition }: MigrationState, nowMs: number): Write[] {
  const name = migration.metadata.name ?? "";
  const text = `Migration ${name} is running`;
  const running = conditioned(
    migration,
    "Running",
    "MigrationRunning",
    "The migration is running",
    nowMs,
  );
  if (definition === undefined) return [running];
  const [type, status, reason] = ["StorageMigrating", "True", "MigrationRunning"];
  return [migrating(definition, { type, status, reason, message: text }, {}, nowMs), running];
}

function finish({ migration, definition }: MigrationState, nowMs: number): Write[] {
  const { status } = migration;
  const completed = {
    type: "Running",
    status: "False",
    reason: "MigrationCompleted",
    message: "Migration completed",
    lastTransitionTime: timeFromMs(nowMs),
    observedGeneration: migration.metadata.generation ?? 0,
  };
  const conditions = withCondition<Condition>(status.conditions, completed, nowMs);
  const ended = withStatus(migration, { ...status, conditions });
  if (definition === undefined) return [ended];
  const isUnchanged =
    findCondition(definition.status.conditions ?? [], "StorageMigrating")?.observedGeneration ===
    definition.metadata.generation;
  const isDone = isTrue(status, "Succeeded");
  const storage = definition.spec.versions?.find(({ storage }) => storage)?.name;
  const versions = isUnchanged && isDone ? { storedVersions: [storage] } : {};
  const outcome = isUnchanged
    ? "and the stored versions have been updated"
    : "but the stored versions have not been updated due to a generation mismatch";
  const message = isDone ? `The migration has succeeded ${outcome}` : "The migration has failed";
  const reason = isDone ? "MigrationSucceeded" : "MigrationFailed";
  const condition = { type: "StorageMigrating", status: "False", reason, message };
  return [migrating(definition, condition, versions, nowMs), ended];
}

/** The definition must be as it was observed: its generation stands in the condition. */
function migrating(
  definition: CustomResourceDefinition,
  condition: Pick<Condition, "type" | "status" | "reason" | "message">,
  more: object,
  nowMs: number,
): Write {
  const { resourceVersion, generation } = definition.metadata;
  const observed = {
    ...condition,
    lastTransitionTime: timeFromMs(nowMs),
    observedGeneration: generation ?? 0,
  };
  const conditions = withCondition(definition.status.conditions ?? [], observed, nowMs);
  const status = { conditions, ...more };
  const changes = { metadata: { resourceVersion }, status };
  return patch(customResourceDefinitionKind, definition, "merge", changes, "status");
}

function rewrite(
  resource: Resource,
  { namespace, name, uid, resourceVersion }: StoredObject,
): Write {
  const { apiVersion, names } = resource;
  const place = namespace === undefined ? {} : { namespace };
  const metadata = { name, ...place, uid, resourceVersion };
  return {
    op: "patch",
    kind: resource,
    target: { namespace, name, uid },
    patchType: "apply",
    patch: { apiVersion, kind: names.kind, metadata },
  };
}

function failed(migration: StorageVersionMigration, message: string, nowMs: number): Write {
  return conditioned(migration, "Failed", "StorageVersionMigrationFailed", message, nowMs);
}

function conditioned(
  migration: StorageVersionMigration,
  type: string,
  reason: string,
  message: string,
  nowMs: number,
): Write {
  const { status } = migration;
  const lastTransitionTime = timeFromMs(nowMs);
  const condition = { type, status: "True", reason, message, lastTransitionTime };
  const conditions = withCondition<Condition>(status.conditions, condition, nowMs);
  return withStatus(migration, { ...status, conditions });
}

function withStatus(
  migration: StorageVersionMigration,
  status: StorageVersionMigrationStatus,
): Write {
  return updateStatus(storageVersionMigrationKind, { ...migration, status });
}

async function definitionOf(
  reader: Reader,
  { group, resource }: GroupResource,
): Promise<CustomResourceDefinition | undefined> {
  if (group === "") return undefined;
  const found = await reader.get(customResourceDefinitionKind, { name: `${resource}.${group}` });
  if (found.ok) return found.value;
  if (found.status.code !== 404) throw new Error(found.status.message);
  return undefined;
}

async function resourceOf(
  reader: Reader,
  { group, resource }: GroupResource,
): Promise<Resource | undefined> {
  const { resources, failures, isUnknown } = await discoverResources(reader);
  const found = resources.find((one) => one.group === group && one.names.plural === resource);
  if (found === undefined && isUnknown(group)) throw new Error(failures.join(", "));
  return found;
}

async function resourceVersionOf(reader: Reader, resource: Resource): Promise<string> {
  const place = resource.scope === "Namespaced" ? { namespace: NO_NAMESPACE } : {};
  const list = await reader.list<KubeObject>(resource, { ...place, limit: 1 });
  if (!list.ok) throw new Error(list.status.message);
  return list.value.metadata.resourceVersion ?? "";
}

/** Objects that were last written up to that resourceVersion. */
async function objectsBefore(
  reader: Reader,
  resource: Resource,
  resourceVersion: string,
): Promise<StoredObject[]> {
  const objects: StoredObject[] = [];
  const last = BigInt(resourceVersion);
  let next = "";
  do {
    const from = next === "" ? {} : { continue: next };
    const page = await reader.list<KubeObject>(resource, { limit: PAGE, ...from });
    if (!page.ok) throw new Error(page.status.message);
    for (const { metadata } of page.value.items) {
      const { namespace, name = "", uid = "", resourceVersion = "0" } = metadata;
      if (BigInt(resourceVersion) > last) continue;
      objects.push({ namespace, name, uid, resourceVersion });
    }
    next = page.value.metadata.continue ?? "";
  } while (next !== "");
  return objects;
}

function isMigratable({ verbs }: Resource): boolean {
  return NEEDED_VERBS.every((verb) => verbs.includes(verb));
}

function isSameResource(a: GroupResource, b: GroupResource): boolean {
  return a.group === b.group && a.resource === b.resource;
}

function isOlder(
  { metadata: a }: StorageVersionMigration,
  { metadata: b }: StorageVersionMigration,
) {
  const [first, second] = [a, b].map(
    ({ creationTimestamp, name }) => `${creationTimestamp ?? ""} ${name ?? ""}`,
  );
  return first! < second!;
}

function isFinished(status: StorageVersionMigrationStatus): boolean {
  return isTrue(status, "Succeeded") || isTrue(status, "Failed");
}

function isTrue({ conditions }: StorageVersionMigrationStatus, type: string): boolean {
  return findCondition(conditions, type)?.status === "True";
}
