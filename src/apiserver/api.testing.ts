/**
 * The API server for tests: in this process, on the memory store and the virtual clock, with
 * everything allowed and no admission unless a test asks for some. What is tested is what every request goes through.
 */
import { createHash } from "node:crypto";
import type { Kind } from "#api/kind.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { createMemoryStore, type MemoryStore } from "#store/memory.ts";
import { testSecurityOptions, testServerOptions } from "#testing/server-options.ts";
import type { ApiRequest } from "./request/request.ts";
import { createSecurity } from "./request/security.ts";
import type { Answer } from "./response/answer.ts";
import { encodeAnswer, isWhole } from "./response/encode-answer.ts";
import { type ApiServer, type ApiServerOptions, startApiServer } from "./server.ts";
import type { EventFeed } from "./watch/watch-feed.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Json = any;

export interface AskOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Asked {
  readonly code: number;
  /** As the client would read it: parsed if it is JSON, else text. */
  readonly body: Json;
  readonly warnings: readonly string[];
  readonly answer: Answer;
}

export interface TestApi extends AsyncDisposable {
  readonly api: ApiServer;
  readonly clock: VirtualClock;
  readonly store: MemoryStore;
  ask(method: string, url: string, options?: AskOptions): Promise<Asked>;
  /** Fails unless the answer has this code. */
  want(code: number, method: string, url: string, options?: AskOptions): Promise<Json>;
  watch(url: string): Promise<EventFeed>;
}

export interface TestApiOptions
  extends Partial<
    Pick<
      ApiServerOptions,
      "storedForm" | "hooks" | "components" | "admission" | "frontProxyClient" | "storeIsLocal"
    >
  > {
  readonly store?: MemoryStore;
  /** Beside the built-in ones. */
  readonly kinds?: readonly Kind[];
}

export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const random = seededRandom(1);
  const { store = createMemoryStore({ clock }), kinds = [], ...given } = options;
  const defaults = testServerOptions();
  const life = new AbortController();
  const api = await startApiServer(
    {
      ...defaults,
      kinds: [...defaults.kinds, ...kinds],
      admission: () => [],
      ...given,
      store,
      clock,
      random,
      serviceRanges: ["10.96.0.0/24"],
      nodePorts: { first: 30_000, last: 30_063 },
      security: (objects, signal) =>
        createSecurity(
          {
            ...testSecurityOptions("https://kubernetes.default.svc"),
            anonymous: { enabled: true },
            clock,
            random,
          },
          objects,
          signal,
        ),
    },
    life.signal,
  );

  const ask = async (method: string, url: string, asked: AskOptions = {}): Promise<Asked> => {
    const request = requestOf(method, url, asked, life.signal);
    const answer = await api.handle(request);
    const { code, warnings } = answer;
    return { code, warnings, answer, body: read(answer, request.query, api) };
  };
  const want = async (code: number, ...request: Parameters<typeof ask>): Promise<Json> => {
    const answer = await ask(...request);
    if (answer.code === code) return answer.body;
    const [method, url] = request;
    throw new Error(`${method} ${url}: ${answer.code} ${JSON.stringify(answer.body)}`);
  };
  return {
    api,
    clock,
    store,
    ask,
    want,
    watch: async (url) => {
      const { answer } = await ask("GET", url);
      if (answer.body.form === "watch") return answer.body.feed;
      throw new Error(`no watch: ${answer.code}`);
    },
    [Symbol.asyncDispose]: async () => {
      life.abort(new Error("the test is over"));
      await api.done;
      await store[Symbol.asyncDispose]();
    },
  };
}

function requestOf(
  method: string,
  url: string,
  { body, headers }: AskOptions,
  signal: AbortSignal,
): ApiRequest {
  const [path = "", query = ""] = url.split("?");
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body ?? null));
  return {
    method,
    path: decodeURIComponent(path),
    query: new URLSearchParams(query),
    headers: { "content-type": "application/json", ...headers },
    body: body === undefined ? { form: "none" } : { form: "bytes", bytes },
    peer: { address: "127.0.0.1", user: { name: "tester", groups: ["system:masters"] } },
    signal,
  };
}

function read(answer: Answer, query: URLSearchParams, { tables }: ApiServer): Json {
  if (!isWhole(answer.body)) return undefined;
  const { contentType, bytes } = encodeAnswer(answer.body, answer.media, query, tables);
  const text = Buffer.from(bytes).toString();
  return contentType.startsWith("application/json") ? JSON.parse(text) : text;
}

/** A ConfigMap with something in it; names are the key of everything that tests compare. */
export function configMap(name: string, more: Json = {}): Json {
  const { metadata, ...rest } = more;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...metadata },
    data: { k: createHash("sha1").update(name).digest("hex") },
    ...rest,
  };
}

export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
