/**
 * A request in the versions that webhooks and policies ask for. Objects of a request are in the stored
 * version; a hook sees them in the version that its rule names: that of the request, or with
 * matchPolicy Equivalent another version of the same resource.
 */
import type { Draft, Kind, KubeObject } from "#api/kind.ts";
import { type Result, success } from "#api/meta/status.ts";
import { andThen, type MaybePromise } from "#lib/async/maybe-promise.ts";
import type { KindRegistry } from "../../registry/kind-registry.ts";
import { fromStoredVersion, toStoredVersion } from "../../storage/convert.ts";
import type { ServedResource, StoredResource } from "../../storage/resources.ts";
import { type AdmissionRequest, type AdmissionTarget, targetOf } from "../admission-request.ts";

/** The request as one hook sees it. */
export interface RequestVersion {
  readonly target: AdmissionTarget;
  /** The kind of `object`; undefined for a sub-resource's own type (Scale, PodExecOptions). */
  readonly kind: Kind | undefined;
  readonly object: KubeObject | undefined;
  readonly old: KubeObject | undefined;
}

export class RequestVersions {
  readonly request: AdmissionRequest;
  readonly #resources: KindRegistry;
  readonly #requested: ServedResource | undefined;
  readonly #known = new Map<string, RequestVersion>();
  #equivalents: readonly AdmissionTarget[] | undefined;

  constructor(request: AdmissionRequest, resources: KindRegistry) {
    const { group, version, resource } = request.requested.resource;
    this.request = request;
    this.#resources = resources;
    this.#requested = resources.find(group, version, resource);
  }

  /** The same resource in other versions. */
  equivalents(): readonly AdmissionTarget[] {
    this.#equivalents ??= this.#findEquivalents();
    return this.#equivalents;
  }

  as(target: AdmissionTarget): MaybePromise<Result<RequestVersion>> {
    const key = `${target.resource.group}/${target.resource.version}`;
    const known = this.#known.get(key);
    if (known !== undefined) return success(known);
    const { object, old } = this.request;
    const kind = this.#kindOf(target);
    const keep = (version: RequestVersion): Result<RequestVersion> => {
      this.#known.set(key, version);
      return success(version);
    };
    if (kind?.storedAs === undefined) return keep({ target, kind, object, old });
    return andThen(converted(kind, object), (next) => {
      if (!next.ok) return next;
      return andThen(converted(kind, old), (before) => {
        if (!before.ok) return before;
        return keep({ target, kind, object: next.value, old: before.value });
      });
    });
  }

  /** An object of that version in the stored one. */
  toStored({ kind }: RequestVersion, object: Draft<KubeObject>): MaybePromise<Result<KubeObject>> {
    return kind === undefined ? success(object) : toStoredVersion(kind, object);
  }

  #findEquivalents(): readonly AdmissionTarget[] {
    const { requested, kind } = this.request;
    const all = servedVersions(this.#resources, this.#resources.storedOf(kind));
    return all.flatMap((one) => {
      const isRequested =
        one.group === requested.resource.group && one.version === requested.resource.version;
      if (isRequested) return [];
      return [targetOf(one, this.#hasOwnType() ? undefined : requested.kind)];
    });
  }

  #kindOf({ resource }: AdmissionTarget): Kind | undefined {
    if (!this.#hasOwnType()) return undefined;
    return this.#resources.find(resource.group, resource.version, resource.resource)?.kind;
  }

  /** The request is about an object of the resource's kind. */
  #hasOwnType(): boolean {
    const { kind } = this.request.requested;
    const own = this.#requested?.kind;
    if (own === undefined) return false;
    return own.names.kind === kind.kind && own.group === kind.group && own.version === kind.version;
  }
}

function converted(
  kind: Kind,
  object: KubeObject | undefined,
): MaybePromise<Result<KubeObject | undefined>> {
  return object === undefined ? success(undefined) : fromStoredVersion(kind, object);
}

// Resources are replaced as a whole, so that the versions of one never change.
const versionsOf = new WeakMap<StoredResource, readonly Kind[]>();

/** Versions that are stored as the same objects, in whatever group. */
function servedVersions(resources: KindRegistry, stored: StoredResource): readonly Kind[] {
  let versions = versionsOf.get(stored);
  if (versions === undefined) {
    versions = [...resources.served()].flatMap((one) => (one.stored === stored ? [one.kind] : []));
    versionsOf.set(stored, versions);
  }
  return versions;
}
