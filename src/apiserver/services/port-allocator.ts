/**
 * Node ports of Services. Which are taken is written in one stored bitmap, upstream's RangeAllocation,
 * and changed by compare-and-swap, so that several API servers agree. Requests that wait for a write
 * share the next one.
 */
import { decodeJson } from "#api/codec/json.ts";
import { decodeProtobuf, readEnvelope } from "#api/codec/protobuf.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import type { Random } from "#lib/random.ts";
import type { Entry, Store } from "#store/contract.ts";

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

export type PortAllocation =
  | { readonly ok: true; readonly port: number }
  | { readonly ok: false; readonly error: string };

const KEY = "/registry/ranges/servicenodeports";

export interface PortAllocatorOptions {
  readonly store: Store;
  readonly random: Random;
  readonly range: PortRange;
}

/** Requests that one write may serve. */
const BATCH_MAX = 1_000;

export class PortAllocator {
  readonly #options: PortAllocatorOptions;
  readonly #waiting: PortRequest[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: PortAllocatorOptions) {
    this.#options = options;
  }

  /**
   * Takes the ports that `decide` asks for. It is asked again if another server was faster. A dry run
   * minds no range and takes nothing.
   */
  take<T>(dryRun: boolean, decide: (operation: PortOperation) => T): Promise<T> {
    let decided: T;
    const apply = (taken: Set<number>): boolean => {
      const operation = new PortOperation(this.#options, taken, dryRun);
      decided = decide(operation);
      if (dryRun) return false;
      for (const port of operation.added) taken.add(port);
      return operation.added.size > 0;
    };
    return this.#request(apply, () => decided);
  }

  release(ports: readonly number[]): Promise<void> {
    return this.#request(
      (taken) => {
        for (const port of ports) taken.delete(port);
        return true;
      },
      () => undefined,
    );
  }

  /** Writes down what `decide` says ought to be taken, given what is. */
  rebuild<T extends { readonly taken: ReadonlySet<number> }>(
    decide: (stored: ReadonlySet<number>, range: PortRange) => T,
  ): Promise<T> {
    return this.#inTurn(async () => {
      for (;;) {
        const { taken, entry } = await this.#load();
        const decided = decide(taken, this.#options.range);
        const same =
          taken.size === decided.taken.size && [...taken].every((p) => decided.taken.has(p));
        if (same && entry !== undefined) return decided;
        if (await write(this.#options, decided.taken, entry)) return decided;
      }
    });
  }

  #request<T>(apply: PortRequest["apply"], answer: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ apply, done: () => resolve(answer()), failed: reject });
      if (this.#waiting.length === 1) void this.#inTurn(() => this.#serveWaiting());
    });
  }

  async #serveWaiting(): Promise<void> {
    const batch = this.#waiting.splice(0, BATCH_MAX);
    // What has come since needs a turn of its own.
    if (this.#waiting.length > 0) void this.#inTurn(() => this.#serveWaiting());
    try {
      for (;;) {
        const { taken, entry } = await this.#load();
        let hasChanged = false;
        for (const { apply } of batch) hasChanged = apply(taken) || hasChanged;
        if (!hasChanged || (await write(this.#options, taken, entry))) break;
      }
      for (const { done } of batch) done();
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #load(): Promise<Loaded> {
    const { entry } = await this.#options.store.get(KEY);
    return { entry, taken: entry === undefined ? new Set() : decode(this.#options.range, entry) };
  }
}

interface Loaded {
  readonly taken: Set<number>;
  readonly entry: Entry | undefined;
}

interface PortRequest {
  /** Changes the set of taken ports; true if it has. It is called again if the write was too late. */
  apply(taken: Set<number>): boolean;
  /** The change is stored. */
  done(): void;
  failed(error: unknown): void;
}

/** What one write takes. Ports are marked as taken before the Service is written. */
export class PortOperation {
  readonly #options: PortAllocatorOptions;
  readonly #taken: ReadonlySet<number>;
  readonly #dryRun: boolean;
  readonly #added = new Set<number>();

  constructor(options: PortAllocatorOptions, taken: ReadonlySet<number>, dryRun: boolean) {
    this.#options = options;
    this.#taken = taken;
    this.#dryRun = dryRun;
  }

  get added(): ReadonlySet<number> {
    return this.#added;
  }

  /** Takes nothing after all. */
  forget(): void {
    this.#added.clear();
  }

  allocate(port: number): PortAllocation {
    const { first, last } = this.#options.range;
    if (!this.#dryRun && (port < first || port > last)) {
      const error = `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
      return { ok: false, error };
    }
    if (this.#isTaken(port)) return { ok: false, error: "provided port is already allocated" };
    this.#added.add(port);
    return { ok: true, port };
  }

  /** Any free port; the lower band is reserved for explicitly requested ports. */
  allocateNext(): PortAllocation {
    const { range, random } = this.#options;
    const size = range.last - range.first + 1;
    const lower = size < 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 32)), 128);
    const upper = size - lower;
    const start = random.integer(upper);
    for (let i = 0; i < size; i++) {
      const index = i < upper ? lower + ((start + i) % upper) : i - upper;
      const port = range.first + index;
      if (this.#isTaken(port)) continue;
      this.#added.add(port);
      return { ok: true, port };
    }
    return { ok: false, error: "range is full" };
  }

  #isTaken(port: number): boolean {
    return this.#taken.has(port) || this.#added.has(port);
  }
}

async function write(
  { store, range }: PortAllocatorOptions,
  taken: ReadonlySet<number>,
  entry: Entry | undefined,
): Promise<boolean> {
  const bytes = Buffer.from(JSON.stringify(encode(range, taken)));
  const condition =
    entry === undefined ? { mustNotExist: true } : { expectRevision: entry.modRevision };
  return (await store.put(KEY, bytes, condition)).ok;
}

/** The bitmap is a number of any length, its highest byte first; the first port is its lowest bit. */
function encode(range: PortRange, taken: ReadonlySet<number>) {
  let highest = range.first - 1;
  for (const port of taken) highest = Math.max(highest, port);
  const bits = new Uint8Array((highest - range.first + 8) >> 3);
  for (const port of taken) {
    const index = port - range.first;
    const at = bits.length - 1 - (index >> 3);
    bits[at] = bits[at]! | (1 << (index & 7));
  }
  return {
    kind: "RangeAllocation",
    apiVersion: "v1",
    metadata: {},
    range: `${range.first}-${range.last}`,
    data: Buffer.from(bits).toString("base64"),
  };
}

/** The stored range counts from its own first port; of another range, what both have stays taken. */
function decode(range: PortRange, { value }: Entry): Set<number> {
  const stored = allocationOf(value);
  const first = Number(/^(\d+)-\d+$/.exec(stored.range ?? "")?.[1] ?? range.first);
  const bits = Buffer.from(stored.data ?? "", "base64");
  const taken = new Set<number>();
  for (let port = Math.max(range.first, first); port <= range.last; port++) {
    const index = port - first;
    const byte = bits[bits.length - 1 - (index >> 3)] ?? 0;
    if ((byte >> (index & 7)) & 1) taken.add(port);
  }
  return taken;
}

/** Upstream writes it as protobuf. */
function allocationOf(value: Uint8Array): { range?: string; data?: string } {
  const envelope = readEnvelope(value);
  const decoded = envelope.ok
    ? decodeProtobuf(schemaOf("core.v1.RangeAllocation"), envelope.message)
    : decodeJson(schemaOf("core.v1.RangeAllocation"), value);
  return decoded.ok ? (decoded.value as { range?: string; data?: string }) : {};
}
