/**
 * Writes that survive the loss of a member.
 *
 * When the response to a write is lost, its outcome is unknown: a member that was cut off may still propose
 * it seconds later. A write whose conditions name revisions may be sent again: no revision comes back, so at
 * most one attempt takes effect. The second one conflicts if the first did take effect, and then
 * finds exactly what it wanted to write, now or in the key's history.
 *
 * A create (the key must not exist) is not sent again: had the object been deleted in between, the first
 * attempt would bring it back. The store looks instead whether it took effect; if not, the write fails with
 * `maybeApplied`.
 */
import type { Clock } from "#lib/time/clock.ts";
import type { Conflict, Entry, Operation, StoreError, TransactAnswer } from "#store/contract.ts";
import { type Endpoints, patienceMs } from "./endpoints.ts";
import { isLeaseGone, isUnavailable, unavailable } from "./errors.ts";
import type { Leases } from "./leases.ts";
import { range, txn } from "./rpc.ts";
import { isConditional, keyBytes, toAnswer, toEntry, toTxn } from "./translate.ts";

const ATTEMPTS_MAX = 4;
const PAUSE_MS = 100;
/** Writes of others that may have followed an attempt whose answer was lost. */
const HISTORY_STEPS_MAX = 32;
/**
 * Longer than an election takes. Shorter than the time between the end of a leader's work and the end of its
 * lease (5 seconds by default): what a controller sent while it led must not take effect under its successor.
 */
const WITHIN_MS = 3_000;

export async function transactSafely(
  endpoints: Endpoints,
  leases: Leases,
  clock: Clock,
  operations: readonly Operation[],
): Promise<TransactAnswer> {
  const afterLoss = decideAfterLoss(operations);
  const startMs = clock.elapsedMs();
  const leftMs = (): number => WITHIN_MS - (clock.elapsedMs() - startMs);
  let answerLost = false;
  for (let attempt = 1; ; attempt++) {
    try {
      const leaseIds = operations.some(isWithTtl)
        ? await Promise.all(operations.map((operation) => leaseOf(leases, operation)))
        : [];
      const request = toTxn(operations, (index) => leaseIds[index] ?? 0n);
      const timeLimit = timeLimitOf(afterLoss, attempt, leftMs());
      const response = await endpoints.call(txn, request, "write", timeLimit);
      const answer = toAnswer(operations, response);
      return answerLost && !answer.ok
        ? await earlierAttempt(endpoints, operations, answer)
        : answer;
    } catch (error) {
      if (attempt === ATTEMPTS_MAX) throw answerLost ? lostAnswer(error) : error;
      if (isLeaseGone(error)) {
        leases.forget();
        continue;
      }
      if (!isUnavailable(error)) throw error;
      if (afterLoss === "look") return await lookFor(endpoints, operations, error);
      if (afterLoss === "fail") throw error;
      if (leftMs() <= PAUSE_MS) throw answerLost ? lostAnswer(error) : error;
      answerLost = true;
      await clock.sleep(PAUSE_MS);
    }
  }
}

/** Whatever became of the last attempt: an earlier one may have taken effect. */
function lostAnswer(cause?: unknown): StoreError {
  return unavailable("etcd: the answer to a write was lost", true, cause);
}

/** Whether a conflict is about an earlier attempt of the same write. */
async function earlierAttempt(
  endpoints: Endpoints,
  operations: readonly Operation[],
  answer: Extract<TransactAnswer, { ok: false }>,
): Promise<TransactAnswer> {
  const own = ownRevision(operations, answer.conflicts);
  if (own !== undefined) return { ok: true, revision: own };
  const [operation] = operations;
  const current = answer.conflicts[0]?.current;
  if (operations.length > 1 || operation?.op !== "put" || current === undefined) {
    throw lostAnswer();
  }
  const next = await nextVersion(endpoints, operation, current);
  if (!Buffer.from(operation.value).equals(next.value)) return answer;
  return { ok: true, revision: next.modRevision };
}

/** What replaced the revision that a write names. Throws if history does not say. */
async function nextVersion(
  endpoints: Endpoints,
  { key, expectRevision }: Extract<Operation, { op: "put" }>,
  current: Entry,
): Promise<Entry> {
  let next = current;
  for (let step = 0; step < HISTORY_STEPS_MAX; step++) {
    const request = { key: keyBytes(key), revision: next.modRevision - 1 };
    const answer = await endpoints.call(range, request, "read").catch(() => undefined);
    const before = answer?.kvs[0];
    if (before?.modRevision === expectRevision) return next;
    if (before === undefined) break; // compacted, or deleted and made again
    next = toEntry(before);
  }
  throw lostAnswer();
}

/** Throws the error unless everything is there as it was to be written. */
async function lookFor(
  endpoints: Endpoints,
  operations: readonly Operation[],
  error: StoreError,
): Promise<TransactAnswer> {
  if (error.problem.code !== "Unavailable" || !error.problem.maybeApplied) throw error;
  const found = await Promise.all(
    operations.map(({ key }) => endpoints.call(range, { key: keyBytes(key) }, "read")),
  ).catch(() => undefined);
  if (found === undefined) throw error;
  const conflicts = found.map(({ kvs: [kv] }, index) => ({ index, current: kv && toEntry(kv) }));
  const revision = ownRevision(operations, conflicts);
  if (revision === undefined) throw error;
  return { ok: true, revision };
}

function timeLimitOf(
  afterLoss: AfterLoss,
  attempt: number,
  leftMs: number,
): { readonly timeoutMs?: number } {
  if (afterLoss === "fail") return {};
  return { timeoutMs: afterLoss === "look" ? leftMs : Math.min(leftMs, patienceMs(attempt)) };
}

function isWithTtl(operation: Operation): boolean {
  return operation.op === "put" && operation.ttlSeconds !== undefined;
}

function leaseOf(leases: Leases, operation: Operation): Promise<bigint> | undefined {
  if (operation.op !== "put" || operation.ttlSeconds === undefined) return undefined;
  return leases.get(operation.ttlSeconds);
}

type AfterLoss = "repeat" | "look" | "fail";

/** Without a put there is nothing to recognise an earlier attempt by. */
function decideAfterLoss(operations: readonly Operation[]): AfterLoss {
  if (!operations.every(isConditional) || !operations.some(({ op }) => op === "put")) return "fail";
  const names = operations.every(({ expectRevision }) => (expectRevision ?? 0) > 0);
  return names ? "repeat" : "look";
}

/** The revision of the earlier attempt, if that is what the conflict is about. */
function ownRevision(
  operations: readonly Operation[],
  conflicts: readonly Conflict[],
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
