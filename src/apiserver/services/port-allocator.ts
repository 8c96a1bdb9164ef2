/**
 * Node ports of Services. Which are taken is written in one stored bitmap, upstream's RangeAllocation,
 * and changed by compare-and-swap, so that several API servers agree.
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

export class PortAllocator {
  readonly #options: PortAllocatorOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: PortAllocatorOptions) {
    this.#options = options;
  }

  /**
   * Takes the ports that `decide` asks for. It is asked again if another server was faster; this
   * server's own requests wait for each other. A dry run minds no range and takes nothing.
   */
  take<T>(dryRun: boolean, decide: (operation: PortOperation) => T): Promise<T> {
    return this.#inTurn(async () => {
      for (;;) {
        const loaded = await this.#load();
        const operation = new PortOperation(this.#options, loaded, dryRun);
        const decided = decide(operation);
        if (dryRun || operation.added.size === 0) return decided;
        const taken = new Set([...loaded.taken, ...operation.added]);
        if (await write(this.#options, taken, loaded.entry)) return decided;
      }
    });
  }

  release(ports: readonly number[]): Promise<void> {
    return this.#inTurn(async () => {
      for (;;) {
        const { taken, entry } = await this.#load();
        for (const port of ports) taken.delete(port);
        if (await write(this.#options, taken, entry)) return;
      }
    });
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

/** What one write takes. Ports are marked as taken before the Service is written. */
export class PortOperation {
  readonly #options: PortAllocatorOptions;
  readonly #loaded: Loaded;
  readonly #dryRun: boolean;
  readonly #added = new Set<number>();

  constructor(options: PortAllocatorOptions, loaded: Loaded, dryRun: boolean) {
    this.#options = options;
    this.#loaded = loaded;
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
    return this.#loaded.taken.has(port) || this.#added.has(port);
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

function encode(range: PortRange, taken: ReadonlySet<number>) {
  let bits = 0n;
  for (const port of taken) bits |= 1n << BigInt(port - range.first);
  const hex = bits === 0n ? "" : bits.toString(16);
  const data = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex").toString("base64");
  return {
    kind: "RangeAllocation",
    apiVersion: "v1",
    metadata: {},
    range: `${range.first}-${range.last}`,
    data,
  };
}

/** The stored range counts from its own first port; of another range, what both have stays taken. */
function decode(range: PortRange, { value }: Entry): Set<number> {
  const stored = allocationOf(value);
  const first = Number(/^(\d+)-\d+$/.exec(stored.range ?? "")?.[1] ?? range.first);
  const hex = Buffer.from(stored.data ?? "", "base64").toString("hex");
  const bits = hex === "" ? 0n : BigInt(`0x${hex}`);
  const taken = new Set<number>();
  for (let port = Math.max(range.first, first); port <= range.last; port++) {
    if ((bits >> BigInt(port - first)) & 1n) taken.add(port);
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
