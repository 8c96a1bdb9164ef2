/**
 * Conversion between the version of a request and the stored version, at the edge of the verbs. Kinds
 * that convert in this process do so at once, and nothing is waited for. Kinds whose versions are
 * converted by a webhook return promises, and all objects of a list go into one call.
 */
import type { Draft, Kind, KubeObject, RemoteConversion } from "#api/kind.ts";
import { type Result, success } from "#api/meta/status.ts";
import { andThen, type MaybePromise } from "#lib/async/maybe-promise.ts";
import type { Revision } from "./revision.ts";

export function toStoredVersion(
  kind: Kind,
  object: Draft<KubeObject>,
): MaybePromise<Result<Draft<KubeObject>>> {
  if (kind.storedAs === undefined) return success(object);
  const { toStored, remote } = kind.storedAs;
  if (remote === undefined) return success(toStored(object) as Draft<KubeObject>);
  return remote
    .toStored([object])
    .then((converted) =>
      converted.ok ? success(converted.value[0] as Draft<KubeObject>) : converted,
    );
}

export function fromStoredVersion(
  kind: Kind,
  stored: KubeObject,
): MaybePromise<Result<KubeObject>> {
  const convert = remoteConversionTo(kind);
  if (convert === undefined) {
    return success(kind.storedAs === undefined ? stored : kind.storedAs.fromStored(stored));
  }
  if (stored.apiVersion === kind.apiVersion) return success(stored);
  return convert([stored]).then((converted) =>
    converted.ok ? success(converted.value[0]!) : converted,
  );
}

/** How a webhook converts objects to the kind's version; undefined if none is needed. */
export function remoteConversionTo(kind: Kind): RemoteConversion["fromStored"] | undefined {
  return kind.storedAs === undefined ? kind.custom?.convertOlder : kind.storedAs.remote?.fromStored;
}

/** The revision in another served version of its kind. */
export function revisionAs(kind: Kind, revision: Revision): MaybePromise<Result<Revision>> {
  if (remoteConversionTo(kind) === undefined) return success(revision.as(kind));
  return andThen(revisionsAs(kind, [revision]), (all) => (all.ok ? success(all.value[0]!) : all));
}

export function revisionsAs(
  kind: Kind,
  revisions: readonly Revision[],
): MaybePromise<Result<readonly Revision[]>> {
  const convert = remoteConversionTo(kind);
  const missing = convert === undefined ? [] : revisions.filter((one) => !one.isKnownAs(kind));
  const converted = (): Result<readonly Revision[]> =>
    success(revisions.map((revision) => revision.as(kind)));
  if (convert === undefined || missing.length === 0) return converted();
  return convert(missing.map(({ value }) => value)).then((objects) => {
    if (!objects.ok) return objects;
    for (const [index, revision] of missing.entries()) {
      revision.addView(kind, objects.value[index]!);
    }
    return converted();
  });
}

/** What was read, in the stored version, even if a webhook has to convert it. */
export function inStoredVersion(
  stored: Kind,
  read: Result<Revision | undefined>,
): MaybePromise<Result<Revision | undefined>> {
  if (stored.custom?.convertOlder === undefined || !read.ok || read.value === undefined)
    return read;
  return revisionAs(stored, read.value);
}
