/**
 * The OpenAPI documents of aggregated servers.
 *
 * Promises:
 * 1. They are asked for when an API becomes available, and again every REFRESH_MS while it is. Requests
 *    for the merged documents never wait for another server.
 * 2. Of version 2 the paths below the API's own `/apis/GROUP/VERSION` are kept, and the definitions that
 *    they lead to. Of version 3 the list of documents is kept; requests for them are proxied.
 * 3. What was last known of a server that does not answer stays until its APIService goes.
 */
import { createHash } from "node:crypto";
import { referencesIn } from "#api/openapi/custom-definitions.ts";
import type { Json } from "#api/openapi/definition.ts";
import { onAbort } from "#lib/async/aborted.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";
import type { RemoteDefinitions } from "../discovery/openapi.ts";
import type { RemoteSchemas as RemoteSchemaPaths } from "../discovery/openapi-paths.ts";
import type { RemoteDocument } from "../discovery/remote-document.ts";
import type { PathHandler } from "../request/handler.ts";
import type { HttpsCaller } from "../webhook/https-caller.ts";
import type { RemoteApi, RemoteApis } from "./remote-apis.ts";
import { AGGREGATOR, userHeaders } from "./user-headers.ts";

export interface RemoteSchemasOptions {
  readonly apis: RemoteApis;
  readonly caller: HttpsCaller;
  readonly clock: Clock;
  readonly logger: Logger;
}

const REFRESH_MS = 60_000;
const TIMEOUT_MS = 30_000;
/** Limit of one document, which is parsed as a whole. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

interface Known {
  v2: RemoteDocument | undefined;
  /** Of the bytes that `v2` was read from. */
  hash: string;
  /** URLs by path. */
  v3: ReadonlyMap<string, string>;
  timer: Timer | undefined;
  isFetching: boolean;
}

export class RemoteSchemas implements RemoteDefinitions, RemoteSchemaPaths {
  readonly answer: PathHandler;
  readonly #options: RemoteSchemasOptions;
  /** By the name of the APIService. */
  readonly #known = new Map<string, Known>();
  #signal: AbortSignal = AbortSignal.abort();

  /** `proxy` hands a request on to an API. */
  constructor(
    options: RemoteSchemasOptions,
    proxy: (api: RemoteApi, ...asked: Parameters<PathHandler>) => ReturnType<PathHandler>,
  ) {
    this.#options = options;
    this.answer = (request, info, user) => {
      const api = this.#apiOf(request.path.slice("/openapi/v3/".length));
      return api === undefined ? undefined : proxy(api, request, info, user);
    };
    options.apis.onChange(({ next, old }) => {
      if (next === undefined) {
        this.#known.get(old?.name ?? "")?.timer?.cancel();
        this.#known.delete(old?.name ?? "");
      } else if (next.isAvailable && !old?.isAvailable) this.#fetchSoon(next.name);
    });
  }

  /** Until the signal aborts. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    onAbort(signal, () => {
      for (const { timer } of this.#known.values()) timer?.cancel();
    });
    for (const { name, isAvailable } of this.#options.apis.all()) {
      if (isAvailable) this.#fetchSoon(name);
    }
  }

  get state(): string {
    return [...this.#known].map(([name, { hash }]) => `${name} ${hash}`).join("\n");
  }

  documents(): readonly RemoteDocument[] {
    return [...this.#known.values()].flatMap(({ v2 }) => (v2 === undefined ? [] : [v2]));
  }

  *paths(): Iterable<readonly [string, string]> {
    for (const { v3 } of this.#known.values()) yield* v3;
  }

  #apiOf(path: string): RemoteApi | undefined {
    if (this.#known.size === 0) return undefined;
    for (const [name, { v3 }] of this.#known) {
      if (v3.has(path)) return this.#options.apis.get(name);
    }
    return undefined;
  }

  #fetchSoon(name: string): void {
    if (this.#signal.aborted) return;
    const fresh = (): Known => ({
      v2: undefined,
      hash: "",
      v3: new Map(),
      timer: undefined,
      isFetching: false,
    });
    const known = this.#known.get(name) ?? fresh();
    this.#known.set(name, known);
    known.timer?.cancel();
    known.timer = this.#options.clock.schedule(0, () => void this.#fetch(name, known));
  }

  async #fetch(name: string, known: Known): Promise<void> {
    const { apis, clock, logger } = this.#options;
    const api = apis.get(name);
    if (api === undefined || known.isFetching) return;
    known.isFetching = true;
    try {
      if (api.isAvailable) await this.#read(api, known);
    } catch (error) {
      logger.debug("OpenAPI of an APIService could not be read", { name, why: messageOf(error) });
    } finally {
      known.isFetching = false;
    }
    if (this.#signal.aborted || this.#known.get(name) !== known) return;
    known.timer = clock.schedule(REFRESH_MS, () => void this.#fetch(name, known));
  }

  async #read(api: RemoteApi, known: Known): Promise<void> {
    const prefix = `apis/${api.group}/${api.version}`;
    const list = (await this.#get(api, "/openapi/v3")) as PathList | undefined;
    const url = list?.paths?.[prefix]?.serverRelativeURL;
    known.v3 = new Map(url === undefined ? [] : [[prefix, url]]);
    const document = (await this.#get(api, "/openapi/v2")) as RemoteDocument | undefined;
    const own = document === undefined ? undefined : ownPart(document, `/${prefix}/`);
    const hash = own === undefined ? "" : JSON.stringify(own);
    known.hash = createHash("sha256").update(hash).digest("hex");
    known.v2 = own;
  }

  /** Undefined if the server has no such document. */
  async #get(api: RemoteApi, path: string): Promise<unknown> {
    const endpoint = this.#options.apis.endpointOf(api);
    if (!endpoint.ok) throw new Error(endpoint.status.message);
    const { code, body } = await this.#options.caller.call({
      endpoint: endpoint.value,
      method: "GET",
      path,
      headers: { ...userHeaders(AGGREGATOR), accept: "application/json" },
      timeoutMs: TIMEOUT_MS,
      answerBytesMax: ANSWER_BYTES_MAX,
      signal: this.#signal,
    });
    if (code === 404) return undefined;
    if (code !== 200) throw new Error(`${path} was answered with ${code}`);
    return JSON.parse(body.toString());
  }
}

interface PathList {
  readonly paths?: Readonly<Record<string, { readonly serverRelativeURL?: string }>>;
}

/** The paths below the prefix and the definitions that they lead to. */
function ownPart(document: Partial<RemoteDocument>, prefix: string): RemoteDocument {
  const { paths = {}, definitions = {} } = document;
  const isOwn = (path: string): boolean => path.startsWith(prefix) || `${path}/` === prefix;
  const own = Object.fromEntries(Object.entries(paths).filter(([path]) => isOwn(path)));
  const reached = new Map<string, unknown>();
  const waiting = [...referencesIn(own)];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (reached.has(name) || !Object.hasOwn(definitions, name)) continue;
    const definition = definitions[name];
    reached.set(name, definition);
    waiting.push(...referencesIn({ definition }));
  }
  return { paths: own, definitions: Object.fromEntries(reached) as Json };
}
