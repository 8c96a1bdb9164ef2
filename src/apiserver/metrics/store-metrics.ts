/** Metrics of the store and of the watch cache under upstream's names. */
import type { Counter, Histogram, Metrics } from "#lib/metrics.ts";
import type { StoredResource } from "../storage/resources.ts";
import type { WatchCache } from "../watch/watch-cache.ts";
import { WINDOW_CHANGES_MAX } from "../watch/watch-window.ts";

export type StoreOperation = "create" | "update" | "delete" | "get" | "list";

const PLACE = ["group", "resource"];
const DURATIONS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60,
];

interface Series {
  readonly durations: Histogram;
  readonly requests: Counter;
  readonly errors: Counter;
}

/** Requests to the store, which is called etcd whatever it is. */
export class StoreMetrics {
  readonly #series = new WeakMap<StoredResource, Map<StoreOperation, Series>>();
  readonly #make: (operation: StoreOperation, resource: StoredResource) => Series;

  constructor(metrics: Metrics) {
    const labels = ["operation", ...PLACE];
    const durations = metrics.histogram({
      name: "etcd_request_duration_seconds",
      help: "Time that the store took for a request.",
      labels,
      buckets: DURATIONS,
    });
    const requests = metrics.counter({
      name: "etcd_requests_total",
      help: "Requests to the store.",
      labels,
    });
    const errors = metrics.counter({
      name: "etcd_request_errors_total",
      help: "Requests that the store could not carry out.",
      labels,
    });
    this.#make = (operation, { group, plural }) => {
      const place = [operation, group, plural];
      return {
        durations: durations(...place),
        requests: requests(...place),
        errors: errors(...place),
      };
    };
  }

  done(operation: StoreOperation, resource: StoredResource, ms: number, failed: boolean): void {
    let known = this.#series.get(resource);
    if (known === undefined) {
      known = new Map();
      this.#series.set(resource, known);
    }
    let series = known.get(operation);
    if (series === undefined) {
      series = this.#make(operation, resource);
      known.set(operation, series);
    }
    series.requests.add(1);
    series.durations.observe(ms / 1000);
    if (failed) series.errors.add(1);
  }
}

export function addStorageSize(metrics: Metrics, name: string, read: () => number): void {
  const options = {
    name: "apiserver_storage_size_bytes",
    help: "Bytes of the store's file.",
    labels: ["storage_cluster_id"],
  };
  metrics.gaugesOf(options, () => [{ labels: [name], value: read() }]);
}

export function addCacheMetrics(metrics: Metrics, cache: WatchCache): void {
  const ofEach = (name: string, help: string, read: (of: Cached) => number): void =>
    metrics.gaugesOf({ name, help, labels: PLACE }, () =>
      [...cache.all()].map((of) => ({
        labels: [of.resource.group, of.resource.plural],
        value: read(of),
      })),
    );
  ofEach("apiserver_resource_objects", "Stored objects of each resource.", ({ size }) => size);
  ofEach(
    "apiserver_resource_size_estimate_bytes",
    "Bytes of the stored objects of each resource.",
    ({ bytes }) => bytes,
  );
  ofEach(
    "apiserver_watch_cache_resource_version",
    "The revision that the cache of each resource shows.",
    () => cache.revision,
  );
  ofEach(
    "watch_cache_capacity",
    "Changes that the cache of each resource keeps at most.",
    () => WINDOW_CHANGES_MAX,
  );
  const changesOf = (name: string, help: string): void =>
    metrics.countersOf({ name, help, labels: PLACE }, () =>
      [...cache.all()].map(({ resource: { group, plural }, changes }) => ({
        labels: [group, plural],
        value: changes,
      })),
    );
  changesOf("apiserver_storage_events_received_total", "Changes received from the store.");
  changesOf("apiserver_watch_cache_events_received_total", "Changes applied to the watch cache.");
  changesOf("apiserver_watch_cache_events_dispatched_total", "Changes dispatched to watchers.");
  const listsOf = (name: string, help: string, read: (of: Cached) => number): void => {
    const labels = name.startsWith("returned") ? PLACE : [...PLACE, "index"];
    metrics.countersOf({ name: `apiserver_cache_list_${name}`, help, labels }, () =>
      [...cache.all()]
        .filter(({ lists }) => lists.count > 0)
        .map((of) => ({ labels: [of.resource.group, of.resource.plural, ""], value: read(of) })),
    );
  };
  listsOf("total", "Lists that the caches answered.", ({ lists }) => lists.count);
  listsOf("fetched_objects_total", "Objects that they looked at.", ({ lists }) => lists.looked);
  listsOf("returned_objects_total", "Objects that they found.", ({ lists }) => lists.found);
  metrics.countersOf(
    {
      name: "apiserver_watch_cache_initializations_total",
      help: "How often the cache of each resource was filled.",
      labels: PLACE,
    },
    () =>
      [...cache.all()].map(({ resource: { group, plural } }) => ({
        labels: [group, plural],
        value: cache.loads,
      })),
  );
  metrics.gaugesOf(
    {
      name: "apiserver_storage_objects",
      help: "Stored objects of each resource, by its full name.",
      labels: ["resource"],
    },
    () =>
      [...cache.all()].map(({ resource: { group, plural }, size }) => ({
        labels: [group === "" ? plural : `${plural}.${group}`],
        value: size,
      })),
  );
}

type Cached = ReturnType<WatchCache["of"]>;
