/** What the server knows about its own state, as the checks of /livez and /readyz. */
import type { ObjectStore } from "./object-store.ts";
import type { HealthCheck, HealthChecks } from "./paths/health-paths.ts";

export class Health {
  readonly #store: ObjectStore;
  readonly #pending: Set<string>;
  readonly #started: readonly string[];
  #shuttingDown = false;

  /** `pending`: names of what has to be done before the server is ready. */
  constructor(store: ObjectStore, pending: readonly string[]) {
    this.#store = store;
    this.#pending = new Set(pending);
    this.#started = pending;
  }

  ready(what: string): void {
    this.#pending.delete(what);
  }

  shutDown(): void {
    this.#shuttingDown = true;
  }

  get checks(): HealthChecks {
    const ping: HealthCheck = { name: "ping", check: () => undefined };
    const etcd: HealthCheck = { name: "etcd", check: () => this.#store.unavailable() };
    const started = this.#started.map((name) => ({
      name,
      check: () => (this.#pending.has(name) ? "not finished" : undefined),
    }));
    const caches: HealthCheck = {
      name: "informer-sync",
      check: () => (this.#store.cache.current ? undefined : "the caches are not loaded"),
    };
    const shutdown: HealthCheck = {
      name: "shutdown",
      check: () => (this.#shuttingDown ? "process is shutting down" : undefined),
    };
    return {
      healthz: [ping, etcd, ...started],
      livez: [ping, etcd, ...started],
      readyz: [ping, etcd, { ...etcd, name: "etcd-readiness" }, caches, ...started, shutdown],
    };
  }
}
