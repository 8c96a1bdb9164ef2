/**
 * Conversion between the version of a request and the stored version, at the edge of the verbs. Kinds
 * that convert in this process do so at once, and nothing is waited for. Kinds whose versions are
 * converted by a webhook return promises, and all objects of a list go into one call.
 */
import type { Draft, Kind, KubeObject } from "#api/kind.ts";
import { type Result, success } from "#api/meta/status.ts";
import { andThen, type Eventual } from "#lib/eventual.ts";
import type { Revision } from "./revision.ts";

export function toStoredVersion(
  kind: Kind,
  object: Draft<KubeObject>,
): Eventual<Result<Draft<KubeObject>>> {
  if (kind.storedAs === undefined) return success(object);
  const { toStored, remote } = kind.storedAs;
  if (remote === undefined) return success(toStored(object) as Draft<KubeObject>);
  return remote
    .toStored([object])
    .then((converted) =>
      converted.ok ? success(converted.value[0] as Draft<KubeObject>) : converted,
    );
}

export function fromStoredVersion(kind: Kind, stored: KubeObject): Eventual<Result<KubeObject>> {
  if (kind.storedAs === undefined) return success(stored);
  const { fromStored, remote } = kind.storedAs;
  if (remote === undefined) return success(fromStored(stored) as KubeObject);
  return remote
    .fromStored([stored])
    .then((converted) => (converted.ok ? success(converted.value[0]!) : converted));
}

/** The revision in another served version of its kind. */
export function revisionAs(kind: Kind, revision: Revision): Eventual<Result<Revision>> {
  if (kind.storedAs?.remote === undefined) return success(revision.as(kind));
  return andThen(revisionsAs(kind, [revision]), (all) => (all.ok ? success(all.value[0]!) : all));
}

export function revisionsAs(
  kind: Kind,
  revisions: readonly Revision[],
): Eventual<Result<readonly Revision[]>> {
  const remote = kind.storedAs?.remote;
  const missing = remote === undefined ? [] : revisions.filter((one) => !one.isKnownAs(kind));
  const converted = (): Result<readonly Revision[]> =>
    success(revisions.map((revision) => revision.as(kind)));
  if (remote === undefined || missing.length === 0) return converted();
  return remote.fromStored(missing.map(({ value }) => value)).then((objects) => {
    if (!objects.ok) return objects;
    for (const [index, revision] of missing.entries()) {
      revision.addView(kind, objects.value[index]!);
    }
    return converted();
  });
}
