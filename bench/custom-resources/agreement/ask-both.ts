/** One request to two servers, and what differs between the two answers. */
import { Agent, request } from "node:https";
import { isDeepStrictEqual } from "node:util";
import type { ServerProcess } from "../../load/server-processes.ts";

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly type?: string;
}

export interface Answer {
  readonly code: number;
  readonly warnings: readonly string[];
  readonly body: Record<string, unknown>;
}

export class Client implements Disposable {
  readonly #server: ServerProcess;
  readonly #agent: Agent;

  constructor(server: ServerProcess) {
    this.#server = server;
    this.#agent = new Agent({ keepAlive: true, ...server.identity });
  }

  ask({ method, path, body, type = "application/json" }: Sent): Promise<Answer> {
    const { port } = this.#server;
    const headers = { "Content-Type": type, Accept: "application/json", "User-Agent": "agree/1" };
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port, agent: this.#agent, method, path, headers };
      const asked = request(options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const warnings = response.headers.warning ?? "";
          resolve({
            code: response.statusCode ?? 0,
            warnings: warnings === "" ? [] : String(warnings).split(/, (?=299 )/),
            body: parsed(Buffer.concat(chunks).toString()),
          });
        });
      });
      asked.on("error", reject);
      asked.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** Paths that are not served are answered in plain text. */
function parsed(text: string): Record<string, unknown> {
  return text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : { text };
}

/** What differs, as a text; undefined if nothing does. */
export function difference(ours: Answer, theirs: Answer): string | undefined {
  const [a, b] = [comparable(ours), comparable(theirs)];
  return isDeepStrictEqual(a, b)
    ? undefined
    : `ours ${JSON.stringify(a)}\n      theirs ${JSON.stringify(b)}`;
}

const UNDECLARED = "field not declared in schema";
const VOLATILE = new Set(["uid", "resourceVersion", "creationTimestamp", "time"]);

/** Upstream lists faults of a schema in the order of a Go map, which is random. */
function comparable({ code, warnings, body }: Answer): unknown {
  const sorted = warnings.toSorted();
  const { details, message } = body as { details?: { causes?: object[] }; message?: string };
  // … and stops at the first field that an applied configuration must not have.
  const typeFault = /^failed to create typed patch object .*?\): /.exec(message ?? "");
  if (typeFault !== null && message?.includes(UNDECLARED)) {
    return { code, warnings: sorted, message: typeFault[0] };
  }
  if (typeFault !== null) {
    return { code, warnings: sorted, message: message?.split("\n").toSorted() };
  }
  if (details?.causes === undefined) return { code, warnings: sorted, body: settled(body) };
  const causes = details.causes.map((cause) => steady(JSON.stringify(cause))).sort();
  const text = causes.length > 1 ? "several" : steady(message ?? "");
  return { code, warnings: sorted, causes, message: text };
}

/** A text without the identifiers and times of an object that it shows. */
function steady(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UID")
    .replaceAll(/(creationTimestamp[\\":]+)[^\\"]+/g, "$1TIME")
    .replaceAll(/(resourceVersion[\\":]+)\d+/g, "$1VERSION");
}

function settled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(settled);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !VOLATILE.has(name))
      .map(([name, inner]) => [name, settled(inner)]),
  );
}
