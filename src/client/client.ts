/**
 * Typed verbs for any kind over a transport. Failure is a value: every verb answers a Result with
 * the server's Status. Requests that the server asks to be repeated (429 and 5xx with Retry-After)
 * and connections that break before anything was sent are repeated here, a bounded number of times.
 */
import type { ListMeta } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import type { Result } from "#api/meta/status.ts";
import { Backoff } from "#lib/async/backoff.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import {
  type Call,
  type PatchType,
  type ResourceRef,
  type Transport,
  TransportError,
  type WatchEvent,
} from "./transport.ts";

/** A kind that knows the type of its objects. */
export type Typed<T extends KubeObject> = ResourceRef & { readonly $object?: T };

export interface Key {
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface ListOf<T> {
  readonly metadata: ListMeta;
  readonly items: readonly T[];
}

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "NotOlderThan" | "Exact";
}

export interface WatchOptions extends Omit<ListOptions, "limit" | "continue"> {
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds?: number;
}

export interface WriteOptions {
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly subresource?: string;
}

export interface PatchOptions extends WriteOptions {
  readonly force?: boolean;
}

export interface DeleteOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: "Background" | "Foreground" | "Orphan";
  readonly gracePeriodSeconds?: number;
  readonly dryRun?: boolean;
  /** The caller wants to know only whether it succeeded. */
  readonly answer?: "nothing";
}

const ATTEMPTS_MAX = 6;
const RETRY_AFTER_MAX_SECONDS = 30;

export interface ClientOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  /** Stands in managedFields unless a write names another. */
  readonly fieldManager: string;
}

export class Client {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** The same client, writing under another name. */
  as(fieldManager: string): Client {
    return new Client({ ...this.#options, fieldManager });
  }

  get<T extends KubeObject>(kind: Typed<T>, key: Key, signal?: AbortSignal): Promise<Result<T>> {
    return this.#send({ verb: "get", kind, ...key }, signal);
  }

  list<T extends KubeObject>(
    kind: Typed<T>,
    { namespace, ...options }: ListOptions = {},
    signal?: AbortSignal,
  ): Promise<Result<ListOf<T>>> {
    return this.#send({ verb: "list", kind, namespace, query: queryOf(options) }, signal);
  }

  create<T extends KubeObject>(
    kind: Typed<T>,
    object: T,
    options: WriteOptions = {},
    signal?: AbortSignal,
  ): Promise<Result<T>> {
    const { namespace } = object.metadata;
    const { subresource } = options;
    // A subresource is created on the object that it belongs to (bindings, evictions, tokens).
    const name = subresource === undefined ? undefined : object.metadata.name;
    const query = this.#writeQuery(options);
    return this.#send(
      { verb: "create", kind, namespace, name, subresource, query, body: object },
      signal,
    );
  }

  /** As `create`, for callers that read nothing but the metadata of the answer: it costs a fraction. */
  createForMetadata<T extends KubeObject>(
    kind: Typed<T>,
    object: T,
    signal?: AbortSignal,
  ): Promise<Result<Pick<KubeObject, "metadata">>> {
    const { namespace } = object.metadata;
    const query = this.#writeQuery({});
    return this.#send(
      { verb: "create", kind, namespace, query, body: object, answer: "metadata" },
      signal,
    );
  }

  /** Kinds that are created to be answered, not kept: reviews of access and tokens. */
  ask<T extends KubeObject>(kind: Typed<T>, question: T, signal?: AbortSignal): Promise<Result<T>> {
    return this.create(kind, question, {}, signal);
  }

  update<T extends KubeObject>(
    kind: Typed<T>,
    object: T,
    options: WriteOptions = {},
    signal?: AbortSignal,
  ): Promise<Result<T>> {
    const { namespace, name } = object.metadata;
    const { subresource } = options;
    const query = this.#writeQuery(options);
    return this.#send(
      { verb: "update", kind, namespace, name, subresource, query, body: object },
      signal,
    );
  }

  patch<T extends KubeObject>(
    kind: Typed<T>,
    key: Key,
    patchType: PatchType,
    body: unknown,
    options: PatchOptions = {},
    signal?: AbortSignal,
  ): Promise<Result<T>> {
    const { subresource } = options;
    const query = { ...this.#writeQuery(options), ...(options.force ? { force: "true" } : {}) };
    return this.#send({ verb: "patch", kind, ...key, subresource, query, body, patchType }, signal);
  }

  delete<T extends KubeObject>(
    kind: Typed<T>,
    key: Key,
    options: DeleteOptions = {},
    signal?: AbortSignal,
  ): Promise<Result<unknown>> {
    const { answer } = options;
    return this.#send({ verb: "delete", kind, ...key, body: deleteBody(options), answer }, signal);
  }

  deleteCollection<T extends KubeObject>(
    kind: Typed<T>,
    { namespace, ...list }: ListOptions,
    options: DeleteOptions = {},
    signal?: AbortSignal,
  ): Promise<Result<unknown>> {
    const call = { verb: "deletecollection", kind, namespace, query: queryOf(list) } as const;
    return this.#send({ ...call, body: deleteBody(options), answer: options.answer }, signal);
  }

  watch<T extends KubeObject>(
    kind: Typed<T>,
    { namespace, ...options }: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent<T>[]> {
    const query = { ...queryOf(options), watch: "true", allowWatchBookmarks: "true" };
    return this.#options.transport.watch({ kind, namespace, query }, signal) as AsyncIterable<
      readonly WatchEvent<T>[]
    >;
  }

  raw(path: string, signal?: AbortSignal): Promise<Result<unknown>> {
    return this.#options.transport.raw(path, signal);
  }

  #writeQuery({ fieldManager, dryRun }: WriteOptions): Record<string, string> {
    return {
      fieldManager: fieldManager ?? this.#options.fieldManager,
      ...(dryRun ? { dryRun: "All" } : {}),
    };
  }

  async #send<T>(call: Call, signal: AbortSignal | undefined): Promise<Result<T>> {
    const { transport, clock, random } = this.#options;
    let backoff: Backoff | undefined; // few calls need one
    for (let attempt = 1; ; attempt++) {
      let waitMs: number | undefined;
      try {
        const result = (await transport.send(call, signal)) as Result<T>;
        waitMs = retryAfterMs(result);
        if (waitMs === undefined || attempt >= ATTEMPTS_MAX) return result;
      } catch (error) {
        // A write may have been carried out before the connection broke: only reads are repeated.
        const isRead = call.verb === "get" || call.verb === "list";
        if (!(error instanceof TransportError) || !isRead || attempt >= ATTEMPTS_MAX) throw error;
        backoff ??= new Backoff({ baseMs: 100, capMs: 5_000, jitter: 0.5, random });
        waitMs = backoff.nextMs();
      }
      await clock.sleep(waitMs, signal);
    }
  }
}

/** How long the server asks to wait, if it does. */
function retryAfterMs<T>(result: Result<T>): number | undefined {
  if (result.ok) return undefined;
  const { code = 0, details } = result.status;
  const seconds = details?.retryAfterSeconds;
  const mayRepeat = code === 429 || code >= 500;
  if (!mayRepeat || seconds === undefined || seconds <= 0) return undefined;
  // An eviction that a budget forbids is an answer for the caller, not a busy server.
  if (details?.causes?.some((cause) => cause.reason === "DisruptionBudget")) return undefined;
  return Math.min(seconds, RETRY_AFTER_MAX_SECONDS) * 1000;
}

function queryOf(options: Readonly<Record<string, unknown>>): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined) query[name] = String(value);
  }
  return query;
}

function deleteBody(options: DeleteOptions): unknown {
  const { uid, resourceVersion, propagation, gracePeriodSeconds, dryRun } = options;
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  return {
    kind: "DeleteOptions",
    apiVersion: "v1",
    ...(Object.keys(preconditions).length > 0 ? { preconditions } : {}),
    ...(propagation === undefined ? {} : { propagationPolicy: propagation }),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(dryRun ? { dryRun: ["All"] } : {}),
  };
}
