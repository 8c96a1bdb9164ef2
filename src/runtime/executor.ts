/**
 * Carries out the writes that a decision asked for: the only place where controllers' writes happen.
 *
 * Promises:
 * 1. Writes go out in order; the first that the server refuses ends the rest.
 * 2. A batch begins slowly: first one request, then, for every success, two more, up to
 *    `IN_FLIGHT_MAX` at a time (1, 2, 4, 8 … for each round trip). A refusal lets those that are under
 *    way finish and ends it, so that a cause that refuses all (a quota, say) costs one request, not
 *    thousands.
 * 3. A write whose effect is already there (a delete of a deleted object) is a success.
 * 4. Events about a write are recorded when its outcome is known.
 * 5. It returns only after the caches show every write that succeeded, so that the next decision
 *    sees them. A cache that stays behind for `VISIBLE_WITHIN_MS` is not waited for any longer.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import type { Result } from "#api/meta/status.ts";
import type { Client } from "#client/client.ts";
import type { Expectation } from "#client/own-writes.ts";
import type { ResourceRef } from "#client/transport.ts";
import { assertNever } from "#lib/assert-never.ts";
import { TimeoutError, withTimeout } from "#lib/async/sleep.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { EventNote, Outcome, RefusedWrite } from "./controller.ts";
import type { Write } from "./writes.ts";

const VISIBLE_WITHIN_MS = 30_000;
const IN_FLIGHT_MAX = 500;

/** Where the executor looks whether a write has arrived; kinds without an informer are not waited for. */
export type FindCache = (
  kind: ResourceRef,
) => { waitFor(expected: Expectation, signal: AbortSignal): Promise<void> } | undefined;

export interface Execution {
  readonly done: number;
  readonly refused: RefusedWrite | undefined;
}

const NOTHING_DONE: Execution = { done: 0, refused: undefined };
/** Made once: the error that `abort` makes by itself comes with a stack trace, for every reconcile. */
const WAIT_ENDED = "the writes are carried out";

export async function execute(
  writes: NonNullable<Outcome["writes"]>,
  client: Client,
  findCache: FindCache,
  note: (event: EventNote) => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<Execution> {
  if (writes.length === 0) return NOTHING_DONE;
  const arrivals: Promise<void>[] = [];
  const waiting = new AbortController();
  const carryOut = async (write: Write): Promise<RefusedWrite | undefined> => {
    const result = await send(write, client, signal);
    noteOutcome(write, result, note);
    if (!result.ok)
      return isAlreadySo(write, result.status) ? undefined : { write, status: result.status };
    const expected = expectationOf(write, result.value);
    const cache = expected === undefined ? undefined : findCache(write.kind);
    if (cache !== undefined) {
      const seen = cache.waitFor(expected!, waiting.signal);
      seen.catch(() => undefined); // if a later write throws, this promise is not awaited
      arrivals.push(seen);
    }
    return undefined;
  };

  let done = 0;
  let refused: RefusedWrite | undefined;
  try {
    for (const step of writes) {
      const batch = isBatch(step) ? step : [step];
      const outcome = await withSlowStart(batch, carryOut);
      done += outcome.done;
      refused = outcome.refused;
      if (refused !== undefined) break;
    }
    await allArrived(arrivals, clock, signal);
  } finally {
    waiting.abort(WAIT_ENDED);
  }
  return { done, refused };
}

/** Nothing waits for the slowest of a round: an answer sends the next ones at once. */
function withSlowStart(
  writes: readonly Write[],
  carryOut: (write: Write) => Promise<RefusedWrite | undefined>,
): Promise<Execution> {
  return new Promise((resolve, reject) => {
    let [sent, done, inFlight] = [0, 0, 0];
    let isOver = false;
    let refused: { readonly index: number; readonly write: RefusedWrite } | undefined;
    const sendNext = (): void => {
      const inFlightMax = Math.min(1 + done, IN_FLIGHT_MAX);
      while (!isOver && inFlight < inFlightMax && sent < writes.length) {
        const index = sent++;
        inFlight += 1;
        carryOut(writes[index]!).then((outcome) => settled(index, outcome), failed);
      }
      if (inFlight === 0) resolve({ done, refused: refused?.write });
    };
    const settled = (index: number, outcome: RefusedWrite | undefined): void => {
      inFlight -= 1;
      if (outcome === undefined) done += 1;
      else {
        isOver = true;
        if (refused === undefined || index < refused.index) refused = { index, write: outcome };
      }
      sendNext();
    };
    const failed = (error: unknown): void => {
      isOver = true;
      reject(error);
    };
    sendNext();
  });
}

function send(write: Write, client: Client, signal: AbortSignal): Promise<Result<unknown>> {
  switch (write.op) {
    case "create":
      return client.createForMetadata(write.kind, write.object, signal);
    case "update": {
      const { subresource } = write;
      return client.update(
        write.kind,
        write.object,
        subresource === undefined ? {} : { subresource },
        signal,
      );
    }
    case "patch": {
      const { kind, target, patchType, patch, subresource, force } = write;
      const options = {
        ...(subresource === undefined ? {} : { subresource }),
        ...(force === undefined ? {} : { force }),
      };
      return client.patch(kind, target, patchType, patch, options, signal);
    }
    case "delete": {
      const { kind, target, resourceVersion, propagation, gracePeriodSeconds } = write;
      const preconditions = {
        uid: target.uid,
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      const options = {
        ...preconditions,
        ...(propagation === undefined ? {} : { propagation }),
        ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
        answer: "nothing",
      } as const;
      return client.delete(kind, target, options, signal);
    }
    case "deleteAll": {
      const { kind, namespace } = write;
      const options = { propagation: "Background", answer: "nothing" } as const;
      return client.deleteCollection(kind, { namespace }, options, signal);
    }
    default:
      return assertNever(write);
  }
}

function isAlreadySo(write: Write, status: Status): boolean {
  if (write.op === "delete") return status.reason === "NotFound";
  // Nothing can be created in a namespace that is going away: trying again would be in vain.
  if (write.op === "create") return hasCause(status, "NamespaceTerminating");
  // A patch that names the uid finds that the object is gone or another: nothing is left to patch.
  return write.op === "patch" && status.reason === "NotFound";
}

function hasCause({ details }: Status, reason: string): boolean {
  return details?.causes?.some((cause) => cause.reason === reason) ?? false;
}

function expectationOf(write: Write, answer: unknown): Expectation | undefined {
  if (write.op === "deleteAll") return undefined;
  if (write.op === "delete") return { ...write.target, resourceVersion: undefined };
  const { metadata } = answer as KubeObject;
  if (metadata?.uid === undefined || metadata.resourceVersion === undefined) return undefined;
  const { namespace, name = "", uid, resourceVersion } = metadata;
  // An update that took the last finalizer away deletes the object.
  const gone = metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
  return { namespace, name, uid, resourceVersion: gone ? undefined : resourceVersion };
}

async function allArrived(
  arrivals: readonly Promise<void>[],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  if (arrivals.length === 0) return;
  try {
    await withTimeout(clock, VISIBLE_WITHIN_MS, () => Promise.all(arrivals), signal);
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
  }
}

function noteOutcome(
  write: Write,
  result: Result<unknown>,
  note: (event: EventNote) => void,
): void {
  const refused =
    !result.ok && !isAlreadySo(write, result.status) && result.status.reason !== write.noEventFor;
  const event = result.ok ? write.onDone : refused ? write.onRefused : undefined;
  if (event === undefined) return;
  const answered = result.ok
    ? (result.value as Partial<KubeObject> | undefined)?.metadata?.name
    : "";
  const name = "target" in write ? write.target.name : (answered ?? "");
  const error = result.ok ? "" : (result.status.message ?? "");
  note({
    ...event,
    message: event.message.replace("{name}", name).replace("{error}", () => error),
  });
}

function isBatch(step: Write | readonly Write[]): step is readonly Write[] {
  return Array.isArray(step);
}
