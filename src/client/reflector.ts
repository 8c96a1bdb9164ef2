/**
 * Keeps a store equal to what the server has of one kind.
 *
 * Promises:
 * 1. It misses nothing: after any broken connection it resumes from the last revision it saw, and
 *    when that is gone (410) it lists again; the store then drops objects that were deleted meanwhile.
 * 2. It uses a streaming list where the server offers it, otherwise list and watch.
 * 3. `synced` resolves once the store was given a whole listing.
 * 4. However many objects come at once, other work of the process runs in between (`slice`).
 * 5. It keeps no object itself.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { deferred } from "#lib/async/deferred.ts";
import { TimeSlice } from "#lib/async/time-slice.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { keyOf } from "./cache.ts";
import type { Client, Typed } from "./client.ts";
import { INITIAL_EVENTS_END } from "./transport.ts";

const PAGE_SIZE = 500;
const WATCH_MIN_SECONDS = 300;
/** Repeated failures are logged at this interval. */
const LOG_EVERY_MS = 30_000;

/** What a reflector fills. */
export interface ReflectorStore<T extends KubeObject> {
  put(object: T): void;
  remove(object: T): void;
  /** Called after a list: objects whose keys (`keyOf` in cache.ts) are not among `current` are gone. */
  retain(current: ReadonlySet<string>): void;
}

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: Client;
  readonly kind: Typed<T>;
  readonly store: ReflectorStore<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Shared with others that work in the same process; its own unless given. */
  readonly slice?: TimeSlice;
}

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #slice: TimeSlice;
  readonly #synced = deferred<void>();
  #isSynced = false;
  #streaming = true;
  #revision: string | undefined;
  /** When a failure was last logged. */
  #loggedMs: number | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#slice = options.slice ?? new TimeSlice(options.clock);
  }

  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Lives until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, kind } = this.#options;
    const backoff = new Backoff({ baseMs: 200, capMs: 30_000, jitter: 1, random });
    while (!signal.aborted) {
      try {
        if (this.#revision === undefined) await this.#listAndWatch(signal);
        else await this.#watch(this.#revision, signal);
        backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        const waitMs = backoff.nextMs();
        const fields = { kind: kind.names.kind, waitMs, error: messageOf(error) };
        if (this.#isWorthALine(error)) logger.warn("list and watch failed", fields);
        else logger.debug("list and watch is tried again", fields);
        await clock.sleep(waitMs, signal).catch(() => undefined);
      }
    }
  }

  /** That a revision is too old is everyday; of the rest, one line in so much time. */
  #isWorthALine(error: unknown): boolean {
    if (error instanceof ServerRefused && error.code === 410) return false;
    const nowMs = this.#options.clock.elapsedMs();
    if (this.#loggedMs !== undefined && nowMs - this.#loggedMs < LOG_EVERY_MS) return false;
    this.#loggedMs = nowMs;
    return true;
  }

  async #listAndWatch(signal: AbortSignal): Promise<void> {
    if (this.#streaming) {
      const outcome = await this.#streamList(signal);
      if (outcome !== "unsupported") return;
      this.#streaming = false;
    }
    await this.#pagedList(signal);
    await this.#watch(this.#revision!, signal);
  }

  /** One watch that begins with the whole state and goes on with its changes. */
  async #streamList(signal: AbortSignal): Promise<"ended" | "unsupported"> {
    const seen = new Set<string>();
    let complete = false;
    const batches = this.#options.client.watch(
      this.#options.kind,
      {
        ...this.#scope(),
        sendInitialEvents: true,
        resourceVersionMatch: "NotOlderThan",
        resourceVersion: "",
        timeoutSeconds: this.#watchSeconds(),
      },
      signal,
    );
    for await (const batch of batches) {
      for (const event of batch) {
        const over = this.#slice.over();
        if (over !== undefined) await over;
        switch (event.type) {
          case "ADDED":
          case "MODIFIED":
            if (!complete) seen.add(keyOfObject(event.object));
            this.#take(event.object, complete);
            break;
          case "DELETED":
            if (!complete) seen.delete(keyOfObject(event.object));
            this.#drop(event.object, complete);
            break;
          case "BOOKMARK":
            if (!complete && event.object.metadata.annotations?.[INITIAL_EVENTS_END] === "true") {
              complete = true;
              this.#options.store.retain(seen);
              seen.clear(); // the watch may go on for a long time
              this.#markSynced();
            }
            if (complete) this.#revision = event.object.metadata.resourceVersion;
            break;
          case "ERROR":
            if (!complete && isUnsupported(event.object)) return "unsupported";
            this.#onError(event.object);
        }
      }
    }
    return "ended";
  }

  async #pagedList(signal: AbortSignal): Promise<void> {
    const seen = new Set<string>();
    const { apiVersion, names } = this.#options.kind;
    const itemType = { apiVersion, kind: names.kind }; // the items of a list do not say it
    let token = "";
    do {
      const page = await this.#options.client.list(
        this.#options.kind,
        { ...this.#scope(), limit: PAGE_SIZE, ...(token === "" ? {} : { continue: token }) },
        signal,
      );
      if (!page.ok) throw new ServerRefused(page.status);
      for (const item of page.value.items) {
        seen.add(keyOfObject(item));
        this.#options.store.put(item.kind === undefined ? { ...itemType, ...item } : item);
      }
      token = page.value.metadata.continue ?? "";
      this.#revision = page.value.metadata.resourceVersion;
    } while (token !== "");
    this.#options.store.retain(seen);
    this.#markSynced();
  }

  async #watch(revision: string, signal: AbortSignal): Promise<void> {
    const options = {
      ...this.#scope(),
      resourceVersion: revision,
      timeoutSeconds: this.#watchSeconds(),
    };
    for await (const events of this.#options.client.watch(this.#options.kind, options, signal)) {
      for (const event of events) {
        const over = this.#slice.over();
        if (over !== undefined) await over;
        switch (event.type) {
          case "ADDED":
          case "MODIFIED":
            this.#take(event.object, true);
            break;
          case "DELETED":
            this.#drop(event.object, true);
            break;
          case "BOOKMARK":
            this.#revision = event.object.metadata.resourceVersion;
            break;
          case "ERROR":
            this.#onError(event.object);
        }
      }
    }
  }

  #take(object: T, resumable: boolean): void {
    this.#options.store.put(object);
    if (resumable) this.#revision = object.metadata.resourceVersion;
  }

  #drop(object: T, resumable: boolean): void {
    this.#options.store.remove(object);
    if (resumable) this.#revision = object.metadata.resourceVersion;
  }

  #onError(status: Status): never {
    if (status.code === 410) this.#revision = undefined;
    throw new ServerRefused(status);
  }

  #markSynced(): void {
    this.#isSynced = true;
    this.#synced.resolve();
  }

  #scope(): { namespace?: string; labelSelector?: string; fieldSelector?: string } {
    const { namespace, labelSelector, fieldSelector } = this.#options;
    return {
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }

  /** Between five and ten minutes, so that many watches do not all end together. */
  #watchSeconds(): number {
    return Math.floor(WATCH_MIN_SECONDS * (1 + this.#options.random.next()));
  }
}

function keyOfObject({ metadata }: KubeObject): string {
  return keyOf(metadata.namespace, metadata.name ?? "");
}

/** The server answered a list or watch with a Status. */
class ServerRefused extends Error {
  override readonly name = "ServerRefused";
  readonly code: number | undefined;
  constructor(status: Status) {
    super(status.message ?? status.reason ?? "refused");
    this.code = status.code;
  }
}

/** Servers without streaming lists refuse the parameter; those whose etcd is too old fail (500). */
function isUnsupported({ code }: Status): boolean {
  return code === 400 || code === 422 || code === 500;
}
