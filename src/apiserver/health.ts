/** What the server knows about its own state, as the checks of /livez and /readyz. */
import type { ObjectStore } from "./object-store.ts";
import type { HealthCheck, HealthChecks } from "./paths/health-paths.ts";

export class Health {
  readonly #store: ObjectStore;
  readonly #hooks: readonly string[];
  #ready = false;
  #shuttingDown = false;

  /** `hooks`: names of what has to be done before the server is ready. */
  constructor(store: ObjectStore, hooks: readonly string[]) {
    this.#store = store;
    this.#hooks = hooks;
  }

  /** All of it is done. */
  ready(): void {
    this.#ready = true;
  }

  shutDown(): void {
    this.#shuttingDown = true;
  }

  get checks(): HealthChecks {
    const alive = ["ping", "log"].map((name): HealthCheck => ({ name, check: () => undefined }));
    const etcd: HealthCheck = { name: "etcd", check: () => this.#store.unavailable() };
    const hooks = this.#hooks.map((name) => ({
      name: `poststarthook/${name}`,
      check: () => (this.#ready ? undefined : "not finished"),
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
      healthz: [...alive, etcd, ...hooks],
      livez: [...alive, etcd, ...hooks],
      readyz: [...alive, etcd, { ...etcd, name: "etcd-readiness" }, caches, ...hooks, shutdown],
    };
  }
}
