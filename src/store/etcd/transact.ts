/**
 * Writes that survive the loss of a member.
 *
 * When the response to a write is lost, its outcome is unknown. If all of it has conditions, it is
 * safe to send it again: at most one of the two takes effect. The second one
 * conflicts if the first did take effect, and then finds exactly what it wanted to write.
 */
import type { Clock } from "#lib/time/clock.ts";
import type { Operation, TransactAnswer } from "#store/contract.ts";
import { type Endpoints, patienceMs } from "./endpoints.ts";
import { isLeaseGone, isUnavailable } from "./errors.ts";
import type { Leases } from "./leases.ts";
import { txn } from "./rpc.ts";
import { isConditional, toAnswer, toTxn } from "./translate.ts";

const ATTEMPTS_MAX = 4;
const PAUSE_MS = 100;

export async function transactSafely(
  endpoints: Endpoints,
  leases: Leases,
  clock: Clock,
  operations: readonly Operation[],
): Promise<TransactAnswer> {
  const repeatable = mayRepeat(operations);
  let answerLost = false;
  for (let attempt = 1; ; attempt++) {
    try {
      const leaseIds = await Promise.all(operations.map((operation) => leaseOf(leases, operation)));
      const request = toTxn(operations, (index) => leaseIds[index] ?? 0n);
      const options = repeatable ? { timeoutMs: patienceMs(attempt) } : {};
      const answer = toAnswer(operations, await endpoints.call(txn, request, "write", options));
      const own = answerLost && !answer.ok ? ownRevision(operations, answer) : undefined;
      return own === undefined ? answer : { ok: true, revision: own };
    } catch (error) {
      if (attempt === ATTEMPTS_MAX) throw error;
      if (isLeaseGone(error)) {
        leases.forget();
        continue;
      }
      if (!isUnavailable(error) || !repeatable) throw error;
      answerLost = true;
      await clock.sleep(PAUSE_MS);
    }
  }
}

function leaseOf(leases: Leases, operation: Operation): Promise<bigint> | undefined {
  if (operation.op !== "put" || operation.ttlSeconds === undefined) return undefined;
  return leases.get(operation.ttlSeconds);
}

/** Without a put there is nothing to recognise an earlier attempt by. */
function mayRepeat(operations: readonly Operation[]): boolean {
  return operations.every(isConditional) && operations.some(({ op }) => op === "put");
}

/** The revision of the earlier attempt, if that is what the conflict is about. */
function ownRevision(
  operations: readonly Operation[],
  { conflicts }: Extract<TransactAnswer, { ok: false }>,
): number | undefined {
  const found = new Map(conflicts.map(({ index, current }) => [index, current]));
  const revisions = new Set<number>();
  for (const [index, operation] of operations.entries()) {
    if (operation.op === "check") continue;
    if (!found.has(index)) return undefined;
    const current = found.get(index);
    if (operation.op === "delete") {
      if (current !== undefined) return undefined;
    } else if (current !== undefined && Buffer.from(operation.value).equals(current.value)) {
      revisions.add(current.modRevision);
    } else return undefined;
  }
  return revisions.size === 1 ? [...revisions][0] : undefined;
}
