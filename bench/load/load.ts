/**
 * Keeps a server busy over a number of connections, each with one request under way, and counts what
 * it answers. The clients are as bare as can be, so that the server is what is measured.
 */
export interface Ask {
  readonly method: string;
  readonly path: string;
  readonly contentType?: string;
  readonly body?: string;
  /** Someone wants to see the answer's body. */
  readonly keep?: boolean;
}

/** One connection: asks, and answers when the whole answer is there. Fails unless it is a success. */
export interface Requester extends Disposable {
  ask(ask: Ask): Promise<Buffer>;
}

export interface Measured {
  readonly count: number;
  readonly perSecond: number;
  readonly p99Ms: number;
}

export async function measureLoad(
  askers: readonly Requester[],
  windowMs: number,
  next: (connection: number, n: number) => Ask,
): Promise<Measured> {
  const startMs = performance.now();
  const tookMs: number[] = [];
  const client = async (asker: Requester, connection: number): Promise<void> => {
    let sentMs = performance.now();
    for (let n = 0; sentMs - startMs < windowMs; n++) {
      await asker.ask(next(connection, n));
      const nowMs = performance.now();
      tookMs.push(nowMs - sentMs);
      sentMs = nowMs;
    }
  };
  await Promise.all(askers.map(client));
  const count = tookMs.length;
  const perSecond = (count * 1000) / (performance.now() - startMs);
  const sorted = tookMs.sort((a, b) => a - b);
  return { count, perSecond, p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN };
}
