/**
 * Extended resources that a DeviceClass stands for: by the name in its spec, and by
 * `deviceclass.resource.kubernetes.io/CLASS`.
 */
import type { DeviceClass } from "#api/generated/resource.v1.ts";
import { isExtendedResource } from "#api/kinds/core/v1/resources/resource-names.ts";
import type { WatchedCache } from "#scheduler/snapshot/cluster-objects.ts";

const IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/";

/** Whether a resource of this name may be backed by devices. */
export function mayBeDevices(resource: string): boolean {
  return isExtendedResource(resource) || resource.startsWith(IMPLICIT_PREFIX);
}

/** Whether the class stands for one of these resources. */
export function standsForAny(
  { metadata, spec }: DeviceClass,
  resources: Iterable<string> = [],
): boolean {
  const implicit = `${IMPLICIT_PREFIX}${metadata.name}`;
  return [...resources].some((name) => name === spec.extendedResourceName || name === implicit);
}

export class DeviceClassResources {
  readonly #classes: () => WatchedCache<DeviceClass>;
  #byResource: Map<string, DeviceClass> | undefined;
  #isWatching = false;

  constructor(classes: () => WatchedCache<DeviceClass>) {
    this.#classes = classes;
  }

  /** The class whose devices are meant by the resource, if any. */
  classOf(resource: string): DeviceClass | undefined {
    const classes = this.#classes();
    if (resource.startsWith(IMPLICIT_PREFIX)) {
      return classes.get(undefined, resource.slice(IMPLICIT_PREFIX.length));
    }
    if (!this.#isWatching) {
      this.#isWatching = true;
      classes.on(() => {
        this.#byResource = undefined;
      });
    }
    this.#byResource ??= byResource(classes.list());
    return this.#byResource.get(resource);
  }
}

/** Of several classes with one name the newest counts, then the one that comes first by name. */
function byResource(classes: Iterable<DeviceClass>): Map<string, DeviceClass> {
  const found = new Map<string, DeviceClass>();
  for (const one of classes) {
    const name = one.spec.extendedResourceName;
    if (name === undefined) continue;
    const other = found.get(name);
    if (other === undefined || isPreferred(one, other)) found.set(name, one);
  }
  return found;
}

function isPreferred({ metadata: a }: DeviceClass, { metadata: b }: DeviceClass): boolean {
  const [createdA = "", createdB = ""] = [a.creationTimestamp, b.creationTimestamp];
  return createdA === createdB ? (a.name ?? "") < (b.name ?? "") : createdA > createdB;
}
