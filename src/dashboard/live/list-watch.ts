/**
 * Follows one collection: lists it in pages, then watches it, and begins again when the watch can not
 * go on (410 Gone, broken connections). Lives until its signal aborts.
 */
import type { IncomingMessage } from "node:http";
import { readLines } from "#client/read-lines.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { messageOf } from "#lib/caught.ts";
import type { FieldTree } from "#lib/json/field-tree.ts";
import { createFieldReader } from "#lib/json/read-fields.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { ApiAccess } from "../api-access.ts";
import type { Followed } from "./messages.ts";

const PAGE_SIZE = 1_000;
/** As many rows as a screen has: they are shown before the rest is asked for. */
const FIRST_PAGE_SIZE = 100;
const RETRY_BASE_MS = 500;
const RETRY_CAP_MS = 15_000;
const ERROR_BYTES_MAX = 64 * 1024;
const BODY_BYTES_MIN = 64 * 1024;

export interface ListWatchOptions extends Followed {
  readonly api: ApiAccess;
  readonly accept: string;
  /** What is read of a page beside its metadata; watch events are whole. */
  readonly fields: FieldTree;
  readonly clock: Clock;
  readonly random: Random;
}

/** `value` is the list's answer, or the `object` of a watch event. */
export type Change =
  | { readonly type: "page"; readonly isFirst: boolean; readonly value: unknown }
  | { readonly type: "synced" }
  | { readonly type: "put" | "delete"; readonly value: unknown }
  | { readonly type: "failed"; readonly code: number; readonly message: string };

export async function* listWatch(
  options: ListWatchOptions,
  signal: AbortSignal,
): AsyncGenerator<Change> {
  const { clock, random } = options;
  const backoff = new Backoff({ baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, jitter: 0.5, random });
  while (!signal.aborted) {
    try {
      for await (const change of once(options, signal)) {
        if (change.type === "put" || change.type === "delete") backoff.reset();
        yield change;
      }
    } catch (error) {
      if (signal.aborted) return;
      const code = error instanceof Refused ? error.code : 0;
      yield { type: "failed", code, message: messageOf(error) };
    }
    await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
  }
}

class Refused extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

async function* once(options: ListWatchOptions, signal: AbortSignal): AsyncGenerator<Change> {
  let revision = yield* list(options, signal);
  yield { type: "synced" };
  for (let goesOn = true; goesOn && !signal.aborted; ) {
    const query = { watch: "1", allowWatchBookmarks: "true", resourceVersion: revision };
    const answer = await options.api.watch(urlOf(options, query), options.accept, signal);
    if (answer.statusCode !== 200) await new AnswerBody().read(answer);
    goesOn = false;
    for await (const lines of readLines(answer as AsyncIterable<Buffer>)) {
      for (const line of lines) {
        const event = JSON.parse(line) as WatchLine;
        if (event.type === "ERROR") {
          if (event.object.code === 410) return; // begin again at once with a list
          throw new Refused(event.object.code ?? 500, event.object.message ?? "the watch failed");
        }
        revision = revisionOf(event) ?? revision;
        goesOn = true; // an event came: the server ended the watch in the usual way
        if (event.type === "BOOKMARK") continue;
        yield { type: event.type === "DELETED" ? "delete" : "put", value: event.object };
      }
    }
  }
}

/** Returns the revision that a watch goes on from. */
async function* list(
  options: ListWatchOptions,
  signal: AbortSignal,
): AsyncGenerator<Change, string> {
  const { fields } = options;
  const readPage = createFieldReader(fields === true ? true : { metadata: true, ...fields });
  const body = new AnswerBody();
  for (let next = "", isFirst = true; ; isFirst = false) {
    const limit = String(isFirst ? FIRST_PAGE_SIZE : PAGE_SIZE);
    const page = { limit, ...(next === "" ? {} : { continue: next }) };
    const answer = await options.api.get(urlOf(options, page), options.accept, signal);
    const value = readPage(await body.read(answer)) as ListAnswer;
    yield { type: "page", isFirst, value };
    next = value.metadata?.continue ?? "";
    if (next === "") return value.metadata?.resourceVersion ?? "";
  }
}

interface ListAnswer {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
}

interface WatchLine {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: ListAnswer & {
    readonly code?: number;
    readonly message?: string;
    readonly rows?: readonly { readonly object?: ListAnswer }[];
  };
}

/** In a Table the revision is that of its one row. */
function revisionOf({ object }: WatchLine): string | undefined {
  const own = object.metadata?.resourceVersion;
  const ofRow = object.rows?.[0]?.object?.metadata?.resourceVersion;
  return [ofRow, own].find((revision) => revision !== undefined && revision !== "");
}

function urlOf(options: ListWatchOptions, query: Readonly<Record<string, string>>): string {
  const { path, labelSelector = "", fieldSelector = "" } = options;
  const all = new URLSearchParams(query);
  if (labelSelector !== "") all.set("labelSelector", labelSelector);
  if (fieldSelector !== "") all.set("fieldSelector", fieldSelector);
  return `${path}?${all}`;
}

/**
 * The bytes of an answer, until the next one is read: pages are megabytes, and the collector runs for every
 * few of them that are allocated.
 */
class AnswerBody {
  #bytes = Buffer.allocUnsafeSlow(BODY_BYTES_MIN);

  /** Throws Refused unless the code is 200. */
  async read(answer: IncomingMessage): Promise<Buffer> {
    const { statusCode: code = 0 } = answer;
    let length = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      if (code !== 200 && length + chunk.length > ERROR_BYTES_MAX) break;
      this.#grow(length, chunk.length);
      chunk.copy(this.#bytes, length);
      length += chunk.length;
    }
    const body = this.#bytes.subarray(0, length);
    if (code === 200) return body;
    const message = statusMessage(body.toString("utf8"));
    throw new Refused(code, message ?? `the API server answered ${code}`);
  }

  #grow(length: number, added: number): void {
    if (length + added <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (length + added));
    this.#bytes.copy(larger, 0, 0, length);
    this.#bytes = larger;
  }
}

function statusMessage(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return typeof message === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}
