/**
 * Turns large YAML into JSON in a worker thread: a body of 3 MB takes seconds to parse, and the server
 * must answer others meanwhile (docs/decisions/0013-large-bodies.md).
 *
 * Promises:
 * 1. The thread starts with the first large body and ends when it has been idle for a while.
 * 2. One body is converted at a time; the others wait in order. Flow control limits how many wait.
 * 3. The thread does not keep the process alive.
 */
import type { Worker } from "node:worker_threads";
import type { YamlAsJson } from "#api/codec/yaml.ts";
import { type Deferred, deferred } from "#lib/async/deferred.ts";
import { startWorker } from "#lib/async/start-worker.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";

/** YAML that is shorter takes a few milliseconds. */
export const LARGE_YAML_BYTES = 32 * 1024;

const IDLE_MAX_MS = 10_000;

export type ConvertedYaml =
  | { readonly yaml: YamlAsJson }
  /** The limit that the JSON would exceed. */
  | { readonly excess: string };

interface Task {
  readonly bytes: Uint8Array;
  readonly outcome: Deferred<ConvertedYaml>;
}

export class YamlThread {
  readonly #clock: Clock;
  readonly #tasks: Task[] = [];
  #worker: Worker | undefined;
  #idle: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  convert(bytes: Uint8Array): Promise<ConvertedYaml> {
    const task: Task = { bytes, outcome: deferred() };
    this.#tasks.push(task);
    if (this.#tasks.length === 1) this.#begin(task);
    return task.outcome.promise;
  }

  #begin({ bytes }: Task): void {
    this.#idle?.cancel();
    this.#worker ??= this.#start();
    this.#worker.postMessage(bytes);
  }

  #start(): Worker {
    const worker = startWorker("yaml", new URL("./yaml-worker.ts", import.meta.url));
    worker.unref();
    worker.on("message", (converted: ConvertedYaml) =>
      this.#finish((outcome) => outcome.resolve(converted)),
    );
    worker.on("error", (error) => {
      this.#worker = undefined;
      this.#finish((outcome) => outcome.reject(error));
    });
    return worker;
  }

  #finish(settle: (outcome: Deferred<ConvertedYaml>) => void): void {
    const task = this.#tasks.shift();
    if (task !== undefined) settle(task.outcome);
    const [next] = this.#tasks;
    if (next !== undefined) this.#begin(next);
    else this.#idle = this.#clock.schedule(IDLE_MAX_MS, () => this.#end());
  }

  #end(): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
  }
}
