/** The caches of the resources that are served now, found by resource or by the key of an object. */
import { REGISTRY, type StoredResource } from "../storage/resources.ts";
import type { ResourceCache } from "./resource-cache.ts";

export class CacheSet {
  readonly #byResource = new Map<StoredResource, ResourceCache>();
  /** By the first segment of the key: few resources have the same. */
  readonly #bySegment = new Map<string, ResourceCache[]>();
  /** Caches of earlier definitions of resources, for requests in flight when they changed. */
  readonly #retired = new WeakMap<StoredResource, ResourceCache>();

  all(): Iterable<ResourceCache> {
    return this.#byResource.values();
  }

  get(resource: StoredResource): ResourceCache | undefined {
    return this.#byResource.get(resource);
  }

  /** The cache of a resource that is served or was served before its definition changed. */
  currentOrRetired(resource: StoredResource): ResourceCache {
    const cache = this.#byResource.get(resource) ?? this.#retired.get(resource);
    if (cache === undefined) throw new Error(`${resource.plural} has no cache`);
    return cache;
  }

  ofKey(key: string): ResourceCache | undefined {
    if (!key.startsWith(REGISTRY)) return undefined;
    const candidates = this.#bySegment.get(firstSegment(key));
    return candidates?.find(({ resource }) => key.startsWith(resource.prefix));
  }

  add(cache: ResourceCache): void {
    const { resource } = cache;
    this.#byResource.set(resource, cache);
    const first = firstSegment(resource.prefix);
    this.#bySegment.set(first, [...(this.#bySegment.get(first) ?? []), cache]);
  }

  /** Its keys are not found any more, unless it is added again. */
  retire(cache: ResourceCache): void {
    const { resource } = cache;
    this.#byResource.delete(resource);
    this.#retired.set(resource, cache);
    const first = firstSegment(resource.prefix);
    const left = (this.#bySegment.get(first) ?? []).filter((other) => other !== cache);
    if (left.length > 0) this.#bySegment.set(first, left);
    else this.#bySegment.delete(first);
  }
}

function firstSegment(key: string): string {
  return key.slice(REGISTRY.length, key.indexOf("/", REGISTRY.length));
}
