/**
 * Gives up history in etcd by itself, by upstream's protocol, so that any number of API servers of
 * either kind share the work: the one that succeeds in writing `compact_rev_key` compacts to the
 * revision that was the newest one interval ago.
 */

import { runEvery } from "#lib/async/sleep.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Endpoints } from "./endpoints.ts";
import { isCompacted, isUnavailable } from "./errors.ts";
import { COMPARE, compact, TARGET, txn } from "./rpc.ts";
import { revisionOf } from "./translate.ts";

const COMPACT_KEY = "compact_rev_key";

/** What a round leaves for the next one. */
interface Round {
  /** How often the key was written, as far as is known. */
  readonly version: number;
  /** The newest revision then. */
  readonly revision: number;
}

export async function runCompactor(
  endpoints: Endpoints,
  clock: Clock,
  intervalMs: number,
  signal: AbortSignal,
): Promise<void> {
  let round: Round = { version: 0, revision: 0 };
  const task = async (): Promise<void> => {
    try {
      round = await compactOnce(endpoints, round);
    } catch (error) {
      // The next round compacts; a skipped round does no harm.
      if (!isUnavailable(error) && !isCompacted(error) && !signal.aborted) throw error;
    }
  };
  await runEvery(clock, intervalMs, task, signal);
}

async function compactOnce(endpoints: Endpoints, last: Round): Promise<Round> {
  const mine = { key: COMPACT_KEY, target: TARGET.version, version: last.version };
  const response = await endpoints.call(
    txn,
    {
      compare: [{ ...mine, result: COMPARE.equal }],
      success: [{ put: { key: COMPACT_KEY, value: Buffer.from(`${last.revision}`) } }],
      failure: [{ range: { key: COMPACT_KEY } }],
    },
    "write",
  );
  const revision = revisionOf(response);
  if (!response.succeeded) {
    return { version: response.responses[0]?.range?.kvs[0]?.version ?? 0, revision };
  }
  // The first round only learns what is the newest.
  if (last.revision > 0) await endpoints.call(compact, { revision: last.revision }, "read");
  return { version: last.version + 1, revision };
}
