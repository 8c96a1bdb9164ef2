/**
 * The decisions of the controllers, for `k8ts why`. The last `capacity` decisions are kept; one costs
 * a small object, and its text is made when it is read.
 */
import { Ring } from "#lib/collections/ring.ts";
import type { Key, Outcome, RefusedWrite } from "./controller.ts";

export interface DecisionRecord {
  readonly atMs: number;
  readonly controller: string;
  readonly key: Key;
  readonly outcome: Outcome<unknown>;
  /** How many writes were carried out. */
  readonly done: number;
  readonly refused: RefusedWrite | undefined;
  /** Set when observing or deciding itself failed. */
  readonly error?: unknown;
}

const CAPACITY = 2_000;

export class DecisionLog {
  readonly #records = new Ring<DecisionRecord>(CAPACITY);

  add(record: DecisionRecord): void {
    this.#records.push(record);
  }

  /** Newest last. */
  about(filter: Partial<Pick<DecisionRecord, "controller">> & Partial<Key> = {}): DecisionRecord[] {
    return [...this.#records].filter(
      ({ controller, key }) =>
        (filter.controller === undefined || filter.controller === controller) &&
        (filter.namespace === undefined || filter.namespace === key.namespace) &&
        (filter.name === undefined || filter.name === key.name),
    );
  }
}
