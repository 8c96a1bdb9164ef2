/** Serves the health checks of Services at their healthCheckNodePorts, for load balancers to ask. */
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { ServiceHealth } from "../rules/health-check-ports.ts";
import { type Page, startPageServer } from "./page-server.ts";

interface Served {
  health: ServiceHealth;
  readonly life: AbortController;
}

export class ServiceHealthServers implements Disposable {
  readonly #served = new Map<number, Served>();
  readonly #logger: Logger;
  readonly #host: string;
  readonly #isProxyHealthy: () => boolean;

  constructor(host: string, isProxyHealthy: () => boolean, logger: Logger) {
    this.#host = host;
    this.#isProxyHealthy = isProxyHealthy;
    this.#logger = logger;
  }

  /** Opens ports that are new, closes those that are gone. A port that is taken is logged and left. */
  async sync(checks: readonly ServiceHealth[]): Promise<void> {
    const wanted = new Map(checks.map((health) => [health.port, health]));
    for (const [port, { life }] of this.#served) {
      if (wanted.has(port)) continue;
      life.abort();
      this.#served.delete(port);
    }
    for (const [port, health] of wanted) {
      const known = this.#served.get(port);
      if (known !== undefined) known.health = health;
      else await this.#open(port, health);
    }
  }

  [Symbol.dispose](): void {
    for (const { life } of this.#served.values()) life.abort();
    this.#served.clear();
  }

  async #open(port: number, health: ServiceHealth): Promise<void> {
    const served: Served = { health, life: new AbortController() };
    const page = (): Page => this.#page(served.health);
    try {
      await startPageServer({ host: this.#host, port, page }, served.life.signal);
      this.#served.set(port, served);
    } catch (error) {
      const { namespace, name } = health;
      const fields = { service: `${namespace}/${name}`, port, why: messageOf(error) };
      this.#logger.error("the health check of a service cannot be served", fields);
    }
  }

  #page({ namespace, name, localEndpoints }: ServiceHealth): Page {
    const isHealthy = this.#isProxyHealthy();
    const body = { service: { namespace, name }, localEndpoints, serviceProxyHealthy: isHealthy };
    return {
      code: isHealthy && localEndpoints > 0 ? 200 : 503,
      body: JSON.stringify(body, undefined, "\t"),
      headers: {
        "content-type": "application/json",
        "x-load-balancing-endpoint-weight": String(localEndpoints),
      },
    };
  }
}
