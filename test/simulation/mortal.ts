/** A controller manager that dies at one of its writes. */
import { Client } from "#client/client.ts";
import type { Transport } from "#client/transport.ts";
import {
  type AnyController,
  builtInControllers,
  type ControllerOptions,
} from "#controllers/registry/controllers.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { Runtime } from "#runtime/run.ts";
import type { Cluster } from "#testing/cluster.ts";

/** Dies at the write with this number: nothing of its goes out any more. */
export class Mortal {
  writes = 0;
  readonly #life = new AbortController();
  readonly #done: Promise<void>;

  /** `more`: controllers beside the built-in ones. */
  constructor(
    cluster: Pick<Cluster, "clock" | "transport">,
    diesAt: number,
    more: readonly AnyController[] = [],
    options: ControllerOptions = {},
  ) {
    const { clock } = cluster;
    const random = seededRandom(1);
    const transport: Transport = {
      ...cluster.transport,
      send: (call, signal) => {
        if (call.verb !== "get" && call.verb !== "list") {
          if (this.writes === diesAt) this.#life.abort(new Error("dead"));
          this.writes += 1;
        }
        this.#life.signal.throwIfAborted();
        return cluster.transport.send(call, signal);
      },
    };
    const client = new Client({
      transport,
      clock,
      random,
      fieldManager: "kube-controller-manager",
    });
    const recorder = { record: () => undefined };
    this.runtime = new Runtime({
      client,
      clock,
      random,
      logger: silentLogger,
      metrics: new Metrics(),
      recorder,
    });
    this.#done = this.runtime.run(
      [...builtInControllers({ rootCa: "ca", ...options }), ...more],
      this.#life.signal,
    );
  }

  readonly runtime: Runtime;

  get isDead(): boolean {
    return this.#life.signal.aborted;
  }

  async end(): Promise<void> {
    this.#life.abort(new Error("over"));
    await this.#done.catch(() => undefined);
  }
}
