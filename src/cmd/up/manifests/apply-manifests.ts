/**
 * One pass over the manifests: applies every object with server-side apply, then removes what an earlier
 * pass applied and what is no longer there.
 *
 * Promises:
 * 1. The inventory names an object before it is applied, so that nothing is forgotten by a crash.
 * 2. Objects of a file that cannot be read, or that could not be applied, are not removed.
 * 3. Only objects that this applier still owns fields of are removed, and those that it never owned a
 *    field of (a Namespace with nothing but a name) if they are the same object by their uid.
 */
import type { Kind, KubeObject } from "#api/kind.ts";
import type { Client } from "#client/client.ts";
import { messageOf } from "#lib/caught.ts";
import { type AppliedObject, readInventory, writeInventory } from "./manifest-inventory.ts";
import { type ManifestObject, type Manifests, readManifests } from "./read-manifests.ts";

export const FIELD_MANAGER = "k8ts-manifests";

const DEFAULT_NAMESPACE = "default";
/** Others may need them. */
const FIRST: readonly string[] = ["Namespace", "CustomResourceDefinition"];

interface ApplyOptions {
  readonly client: Client;
  readonly folders: readonly string[];
  /** Of the ConfigMap. */
  readonly inventory: string;
  findKind(apiVersion: string, kind: string): Kind | undefined;
}

/** Returns what went wrong: each with the file that it is about. */
export async function applyManifests(
  options: ApplyOptions,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { client, folders, inventory } = options;
  const manifests = await readManifests(folders);
  const before = await readInventory(client, inventory, signal);
  const { wanted, unknown } = wantedObjects(manifests, options);
  const kept = new Set([...manifests.faults.keys(), ...unknown.map(({ file }) => file)]);
  const ids = new Set(wanted.map(({ applied }) => idOf(applied)));
  const others = before.objects.filter((one) => !ids.has(idOf(one)));
  const uids = new Map(before.objects.map((one) => [idOf(one), one.uid]));
  const named = wanted.map(({ applied }) => withUid(applied, uids.get(idOf(applied))));
  if (wanted.length === 0 && others.length === 0 && kept.size === 0) {
    if (before.faults.length > 0)
      await writeInventory(client, inventory, { objects: [], faults: [] }, signal);
    return [];
  }
  await writeInventory(client, inventory, { ...before, objects: [...named, ...others] }, signal);
  const faults = [
    ...[...manifests.faults].map(([file, why]) => `${file}: ${why}`),
    ...unknown.map(
      ({ file, object }) =>
        `${file}: no matches for kind "${object.kind}" in version "${object.apiVersion}"`,
    ),
  ];
  for (const [index, one] of wanted.entries()) {
    const { applied } = one;
    const result = await applyOne(client, one, signal);
    if (result.ok) named[index] = withUid(applied, uidIfNotOwned(result.value));
    else faults.push(`${applied.file}: ${describe(applied)}: ${result.why}`);
  }
  const left: AppliedObject[] = [];
  for (const one of others.toReversed()) {
    if (kept.has(one.file)) {
      left.push(one);
      continue;
    }
    const why = await prune(options, one, signal);
    if (why === undefined) continue;
    left.push(one);
    faults.push(`${one.file}: ${describe(one)} is not removed: ${why}`);
  }
  await writeInventory(client, inventory, { objects: [...named, ...left], faults }, signal);
  return faults;
}

interface Wanted {
  readonly applied: AppliedObject;
  readonly kind: Kind;
  readonly object: KubeObject;
}

interface WantedObjects {
  readonly wanted: readonly Wanted[];
  /** Of kinds that are not served, perhaps not yet: a definition takes a moment. */
  readonly unknown: readonly ManifestObject[];
}

function wantedObjects({ objects }: Manifests, { findKind }: ApplyOptions): WantedObjects {
  const wanted: Wanted[] = [];
  const unknown: ManifestObject[] = [];
  for (const one of objects) {
    const { file, object } = one;
    const { apiVersion = "", kind: kindName = "", metadata } = object;
    const kind = findKind(apiVersion, kindName);
    if (kind === undefined) {
      unknown.push(one);
      continue;
    }
    const isCluster = kind.scope === "Cluster";
    const namespace = isCluster ? "" : (metadata.namespace ?? DEFAULT_NAMESPACE);
    const applied = { file, apiVersion, kind: kindName, namespace, name: metadata.name ?? "" };
    wanted.push({ applied, kind, object });
  }
  const rank = ({ applied }: Wanted): number =>
    FIRST.includes(applied.kind) ? FIRST.indexOf(applied.kind) : FIRST.length;
  return { wanted: wanted.sort((a, b) => rank(a) - rank(b)), unknown };
}

async function applyOne(
  client: Client,
  { applied, kind, object }: Wanted,
  signal: AbortSignal,
): Promise<Applied> {
  const { namespace, name } = applied;
  const key = kind.scope === "Cluster" ? { name } : { namespace, name };
  try {
    const result = await client.patch(kind, key, "apply", object, { force: true }, signal);
    return result.ok ? result : { ok: false, why: result.status.message ?? "refused" };
  } catch (error) {
    signal.throwIfAborted();
    return { ok: false, why: messageOf(error) };
  }
}

type Applied =
  | { readonly ok: true; readonly value: KubeObject }
  | { readonly ok: false; readonly why: string };

function withUid(applied: AppliedObject, uid: string | undefined): AppliedObject {
  return uid === undefined ? applied : { ...applied, uid };
}

function uidIfNotOwned(object: KubeObject): string | undefined {
  return isOwned(object) ? undefined : object.metadata.uid;
}

/** Whether this applier owns a field of it. */
function isOwned({ metadata: { managedFields = [] } }: KubeObject): boolean {
  return managedFields.some(
    ({ manager, operation }) => manager === FIELD_MANAGER && operation === "Apply",
  );
}

async function prune(
  { client, findKind }: ApplyOptions,
  { apiVersion, kind: kindName, namespace, name, uid: knownUid }: AppliedObject,
  signal: AbortSignal,
): Promise<string | undefined> {
  const kind = findKind(apiVersion, kindName);
  if (kind === undefined) return undefined; // with its definition, all its objects are gone
  const key = kind.scope === "Cluster" ? { name } : { namespace, name };
  try {
    const found = await client.get(kind, key, signal);
    if (!found.ok) return found.status.code === 404 ? undefined : found.status.message;
    const { uid = "" } = found.value.metadata;
    if (!isOwned(found.value) && uid !== knownUid) return undefined;
    const gone = await client.delete(kind, key, { uid, propagation: "Background" }, signal);
    return gone.ok || gone.status.code === 404 ? undefined : gone.status.message;
  } catch (error) {
    signal.throwIfAborted();
    return messageOf(error);
  }
}

function idOf({ apiVersion, kind, namespace, name }: AppliedObject): string {
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  return [group, kind, namespace, name].join("/");
}

function describe({ kind, namespace, name }: AppliedObject): string {
  return `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}
