/**
 * A client's way to an API server in the same process: a direct call through the same
 * authentication, authorization and admission. No sockets, no JSON: objects go in and out as they
 * are, frozen and shared.
 */
import type { KubeObject } from "#api/kind.ts";
import { failure, type Result, success } from "#api/meta/status.ts";
import { statusFrom } from "#api/meta/status-from.ts";
import type { Handler } from "#apiserver/request/handler.ts";
import type { RequestBody, User } from "#apiserver/request/request.ts";
import type { Answer } from "#apiserver/response/answer.ts";
import type { EventFeed, FeedEvent } from "#apiserver/watch/watch-feed.ts";
import type { BeginRequest } from "#client/request-metrics.ts";
import {
  METHODS,
  PATCH_MEDIA_TYPES,
  type PatchType,
  pathOf,
  type Transport,
  TransportError,
  type WatchCall,
  type WatchEvent,
} from "#client/transport.ts";
import type { TurnLimit } from "#lib/async/turn-limit.ts";

/** A millisecond or two if all of them have to be parsed; informers let other work run after each event. */
const EVENTS_PER_PULL = 16;
/** Of one list or event from another API server. */
const STREAMED_BYTES_MAX = 64 * 1024 * 1024;
/** Heartbeats and elections have deadlines: they do not wait for their turn. */
const LEASES = "leases";
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/** How much of the work of calls is done in one turn of the event loop. */
export interface CallTurns {
  readonly begins: TurnLimit;
  /** What a commit answers comes at once, and the callers go on with each answer. */
  readonly answers: TurnLimit;
}

export function inProcessTransport(
  handle: Handler,
  user: User,
  userAgent: string,
  begin?: BeginRequest,
  /** Shared by all clients of the process; without it every call begins at once. */
  turns?: CallTurns,
): Transport {
  const ask: Ask = async ({ method, path, query, body, contentType }, signal) => {
    const done = begin?.(method);
    const answer = await handle({
      method,
      path: path.includes("%") ? decodeURIComponent(path) : path, // the handler takes paths without escapes
      query: new URLSearchParams(query),
      headers: { accept: JSON_TYPE, "content-type": contentType, "user-agent": userAgent },
      body,
      peer: { address: "in-process", user },
      signal,
    });
    done?.({ code: answer.code });
    return answer;
  };
  return {
    send: async ({ verb, patchType, body, query = {}, ...target }, signal = never) => {
      signal.throwIfAborted();
      const limits = target.kind.names.plural === LEASES ? undefined : turns;
      const begin = limits?.begins.begin();
      if (begin !== undefined) await begin;
      const question = {
        method: METHODS[verb],
        path: pathOf(target),
        query,
        body: bodyOf(body, patchType),
        contentType: patchType === undefined ? JSON_TYPE : PATCH_MEDIA_TYPES[patchType],
      };
      const answer = await ask(question, signal);
      const turn = limits?.answers.begin();
      if (turn !== undefined) await turn;
      try {
        return await resultOf(answer);
      } finally {
        answer.sent?.();
      }
    },
    raw: async (path, signal = never) => {
      const [name = "", search = ""] = path.split("?", 2);
      const query = Object.fromEntries(new URLSearchParams(search));
      return await resultOf(await ask(readOf(name, query), signal));
    },
    watch: (call, signal) => watch(call, signal, ask),
  };
}

const JSON_TYPE = "application/json";

interface Question {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: RequestBody;
  readonly contentType: string;
}

type Ask = (question: Question, signal: AbortSignal) => Promise<Answer>;

function readOf(path: string, query: Question["query"]): Question {
  return { method: "GET", path, query, body: { form: "none" }, contentType: JSON_TYPE };
}

async function* watch(
  call: WatchCall,
  signal: AbortSignal,
  ask: Ask,
): AsyncGenerator<readonly WatchEvent[]> {
  const answer = await ask(readOf(pathOf(call), call.query), signal);
  using _ended = { [Symbol.dispose]: () => answer.sent?.() };
  if (answer.body.form === "stream" && answer.code === 200) {
    yield* streamedEvents(answer.body.stream.chunks);
    return;
  }
  if (answer.body.form !== "watch") {
    const result = await resultOf(answer);
    if (result.ok) throw new TransportError(`a watch was answered with ${answer.body.form}`);
    yield [{ type: "ERROR", object: result.status }];
    return;
  }
  using feed = answer.body.feed;
  let wake: () => void = () => undefined;
  feed.onWake(() => wake());
  const onAbort = (): void => wake();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const events = feed.pull(EVENTS_PER_PULL);
      if (events === "over") return;
      if (events.length > 0) yield events.map((event) => watchEventOf(event, feed));
      else await woken;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function watchEventOf(event: FeedEvent, { kind }: EventFeed): WatchEvent {
  switch (event.type) {
    case "BOOKMARK":
      return {
        type: "BOOKMARK",
        object: {
          apiVersion: kind.apiVersion,
          kind: kind.names.kind,
          metadata: {
            resourceVersion: String(event.revision),
            ...(event.initialEventsEnd ? { annotations: { [INITIAL_EVENTS_END]: "true" } } : {}),
          },
        },
      };
    case "ERROR":
      return { type: "ERROR", object: event.status };
    default:
      return { type: event.type, object: event.object.value };
  }
}

function bodyOf(body: unknown, patchType: PatchType | undefined): RequestBody {
  if (body === undefined) return { form: "none" };
  // A patch is text by nature: its type says how to read it.
  if (patchType !== undefined) return { form: "bytes", bytes: Buffer.from(JSON.stringify(body)) };
  return { form: "object", object: body as KubeObject };
}

async function resultOf({ code, body }: Answer): Promise<Result<unknown>> {
  const value = body.form === "stream" ? await streamedContent(body) : contentOf(body);
  return code >= 200 && code < 300 ? success(value) : failure(statusFrom(code, value));
}

function contentOf(body: Answer["body"]): unknown {
  switch (body.form) {
    case "object":
      return body.object.value;
    case "list": {
      const { kind, items, resourceVersion, continueToken, remaining } = body.list;
      return {
        apiVersion: kind.apiVersion,
        kind: kind.names.list,
        metadata: {
          resourceVersion,
          ...(continueToken === undefined ? {} : { continue: continueToken }),
          ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
        },
        items: items.map(({ value }) => value),
      };
    }
    case "value":
      return body.value;
    case "bytes":
      return parsed(Buffer.from(body.bytes).toString("utf8"));
    case "stream":
    case "watch":
    case "tunnel":
      throw new TransportError(`an answer of the form ${body.form} has no value`);
  }
}

/** What another API server answered: it came as bytes. */
async function streamedContent({
  stream,
}: Extract<Answer["body"], { form: "stream" }>): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream.chunks) {
    length += chunk.length;
    if (length > STREAMED_BYTES_MAX) throw new TransportError("the answer is too long");
    chunks.push(chunk);
  }
  return parsed(Buffer.concat(chunks).toString("utf8"));
}

/** A line of JSON for each event. */
async function* streamedEvents(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly WatchEvent[]> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > STREAMED_BYTES_MAX) throw new TransportError("the event is too long");
    const events = lines.filter((line) => line !== "");
    if (events.length > 0) yield events.map((line) => JSON.parse(line) as WatchEvent);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const never = new AbortController().signal;
