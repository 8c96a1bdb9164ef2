/** The caches of the resources that are served now, found by resource or by the key of an object. */
import { REGISTRY, type StoredResource } from "../storage/resources.ts";
import type { ResourceCache } from "./resource-cache.ts";

export class CacheSet {
  readonly #byResource = new Map<StoredResource, ResourceCache>();
  /** By prefix, and all prefixes have one or two segments: `configmaps/` or `example.com/widgets/`. */
  readonly #byPrefix = new Map<string, ResourceCache>();
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
    const first = key.indexOf("/", REGISTRY.length) + 1;
    const found = this.#byPrefix.get(key.slice(0, first));
    if (found !== undefined || first === 0) return found;
    return this.#byPrefix.get(key.slice(0, key.indexOf("/", first) + 1));
  }

  add(cache: ResourceCache): void {
    const { resource } = cache;
    this.#byResource.set(resource, cache);
    this.#byPrefix.set(resource.prefix, cache);
  }

  /** Its keys are not found any more, unless it is added again. */
  retire(cache: ResourceCache): void {
    const { resource } = cache;
    this.#byResource.delete(resource);
    this.#retired.set(resource, cache);
    if (this.#byPrefix.get(resource.prefix) === cache) this.#byPrefix.delete(resource.prefix);
  }
}
