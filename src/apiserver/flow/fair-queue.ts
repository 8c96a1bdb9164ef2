/**
 * Waiting lines of one priority level. Each flow (a user, a namespace) is dealt a few of the queues
 * and joins the shortest of them, so that one busy flow fills only its own few; turns go round the
 * queues, not round the requests.
 */
export interface Waiting {
  /** How many seats it needs. */
  readonly seats: number;
  /** The flow distinguisher, for debug output. */
  readonly flow: string;
  /** Its turn has come. */
  go(): void;
}

export interface FairQueueOptions {
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthLimit: number;
}

export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #queues = new Map<number, Waiting[]>();
  #length = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#length;
  }

  /** How long its queue is now; undefined: all of the flow's queues are full. */
  push(waiting: Waiting): number | undefined {
    let best: number | undefined;
    for (const index of dealHand(waiting.flow, this.#options)) {
      if (best === undefined || this.#lengthOf(index) < this.#lengthOf(best)) best = index;
    }
    if (best === undefined || this.#lengthOf(best) >= this.#options.queueLengthLimit) {
      return undefined;
    }
    const queue = this.#queues.get(best);
    if (queue === undefined) this.#queues.set(best, [waiting]);
    else queue.push(waiting);
    this.#length += 1;
    return this.#lengthOf(best);
  }

  /** Who is next in turn. */
  peek(): Waiting | undefined {
    return this.#queues.values().next().value?.[0];
  }

  /** Every queue there is, those in use with who waits in them. */
  *waiting(): Generator<readonly [number, readonly Waiting[]]> {
    for (let index = 0; index < this.#options.queues; index++) {
      yield [index, this.#queues.get(index) ?? []];
    }
  }

  /** The next one in turn; its queue goes to the end of the round. */
  shift(): Waiting | undefined {
    const [index, queue] = this.#queues.entries().next().value ?? [];
    if (index === undefined || queue === undefined) return undefined;
    const waiting = queue.shift();
    this.#queues.delete(index);
    if (queue.length > 0) this.#queues.set(index, queue);
    this.#length -= 1;
    return waiting;
  }

  /** Gives up waiting. */
  remove(waiting: Waiting): void {
    for (const [index, queue] of this.#queues) {
      const at = queue.indexOf(waiting);
      if (at === -1) continue;
      queue.splice(at, 1);
      if (queue.length === 0) this.#queues.delete(index);
      this.#length -= 1;
      return;
    }
  }

  #lengthOf(index: number): number {
    return this.#queues.get(index)?.length ?? 0;
  }
}

/** The same different queues for the same flow, every time. */
function dealHand(flow: string, { queues, handSize }: FairQueueOptions): number[] {
  let entropy = hash(flow);
  const hand: number[] = [];
  for (let dealt = 0; dealt < Math.min(handSize, queues); dealt++) {
    let card = entropy % (queues - dealt);
    entropy = Math.floor(entropy / (queues - dealt));
    for (const earlier of [...hand].sort((a, b) => a - b)) if (card >= earlier) card += 1;
    hand.push(card);
  }
  return hand;
}

/** 53 bits of two FNV-1a hashes. */
function hash(text: string): number {
  let high = 0x811c9dc5;
  let low = 0x01000193;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    high = Math.imul(high ^ code, 0x01000193) >>> 0;
    low = Math.imul(low ^ (code + at), 0x85ebca6b) >>> 0;
  }
  return (high & 0x1fffff) * 2 ** 32 + low;
}
