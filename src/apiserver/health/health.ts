/** What the server knows about its own state, as the checks of /livez and /readyz. */
import type { ObjectStore } from "../storage/object-store.ts";
import type { HealthCheck, HealthChecks } from "./health-paths.ts";
import type { StartHook, StartStep } from "./start-hooks.ts";

export class Health {
  readonly #store: ObjectStore;
  readonly #hooks: readonly StartHook[];
  readonly #more: readonly HealthCheck[];
  readonly #done = new Set<StartStep>();
  #shuttingDown = false;

  /** `hooks`: what has to be done before the server is ready. `more` does not count for /livez. */
  constructor(store: ObjectStore, hooks: readonly StartHook[], more: readonly HealthCheck[] = []) {
    this.#store = store;
    this.#hooks = hooks;
    this.#more = more;
  }

  finished(step: StartStep): void {
    this.#done.add(step);
  }

  shutDown(): void {
    this.#shuttingDown = true;
  }

  get checks(): HealthChecks {
    const well = (name: string): HealthCheck => ({ name, check: () => undefined });
    const alive = [well("ping"), well("log")];
    // The server calls itself without a connection: there is no certificate that could expire.
    const loopback = well("loopback-serving-certificate");
    const etcd: HealthCheck = { name: "etcd", check: () => this.#store.unavailable() };
    const hooks = this.#hooks.map(({ name, step }) => ({
      name,
      check: () => (this.#done.has(step) ? undefined : "not finished"),
    }));
    const caches: HealthCheck = {
      name: "informer-sync",
      check: () => (this.#store.isCurrent ? undefined : "the caches are not loaded"),
    };
    const shutdown: HealthCheck = {
      name: "shutdown",
      check: () => (this.#shuttingDown ? "process is shutting down" : undefined),
    };
    return {
      healthz: [...alive, loopback, etcd, ...this.#more, ...hooks],
      livez: [...alive, loopback, etcd, ...hooks],
      readyz: [
        ...alive,
        etcd,
        { ...etcd, name: "etcd-readiness" },
        ...this.#more,
        caches,
        ...hooks,
        shutdown,
      ],
    };
  }
}
