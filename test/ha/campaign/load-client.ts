/**
 * A client of several API servers, as behind a load balancer that checks them: it asks any server that has
 * answered lately. A request has one try; what came of it is known, or unknown.
 */
import { Agent, request } from "node:https";
import type { Random } from "#lib/random.ts";
import { nowMs, type Operation } from "./history.ts";

export interface LoadTarget {
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

export interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
}

export interface LoadAnswer {
  readonly server: string;
  /** 0: there was no answer. */
  readonly code: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers are of every kind
  readonly json: any;
  readonly startMs: number;
  readonly endMs: number;
}

export interface LoadClientOptions {
  readonly targets: readonly LoadTarget[];
  readonly ca: string;
  readonly token: string;
  readonly random: Random;
}

/** So long a client waits for an answer before it asks another server. */
const ANSWER_WITHIN_MS = 3_000;
/** A server that has not answered is left alone for so long. */
const AVOIDED_MS = 5_000;

export class LoadClient implements Disposable {
  readonly #options: LoadClientOptions;
  readonly #agent: Agent;
  readonly #avoidedUntilMs = new Map<LoadTarget, number>();

  constructor(options: LoadClientOptions) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, ca: options.ca });
  }

  ask(asked: LoadRequest): Promise<LoadAnswer> {
    return this.askOne(this.#choice(), asked);
  }

  askOne(target: LoadTarget, asked: LoadRequest): Promise<LoadAnswer> {
    const { token } = this.#options;
    const { host, port, name: server } = target;
    const startMs = nowMs();
    return new Promise((resolve) => {
      const end = (code: number, json: unknown): void => {
        clearTimeout(timer);
        if (code === 0) this.#avoidedUntilMs.set(target, nowMs() + AVOIDED_MS);
        resolve({ server, code, json, startMs, endMs: nowMs() });
      };
      const outgoing = request({
        ...{ host, port, method: asked.method, path: asked.path, agent: this.#agent },
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": asked.contentType ?? "application/json",
        },
      });
      const timer = setTimeout(() => outgoing.destroy(new Error("late")), ANSWER_WITHIN_MS);
      outgoing.on("error", () => end(0, undefined));
      outgoing.on("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", () => end(0, undefined));
        response.on("end", () => end(response.statusCode ?? 0, jsonOf(Buffer.concat(chunks))));
      });
      outgoing.end(asked.body === undefined ? undefined : JSON.stringify(asked.body));
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #choice(): LoadTarget {
    const { targets, random } = this.#options;
    const atMs = nowMs();
    const good = targets.filter((target) => (this.#avoidedUntilMs.get(target) ?? 0) < atMs);
    const choice = good.length > 0 ? good : targets;
    return choice[random.integer(choice.length)]!;
  }
}

/** An answer of the 4xx kind says that nothing was done; 429 and 5xx leave it open. */
export function outcomeOf({ code }: LoadAnswer): Operation["outcome"] {
  if (code >= 200 && code < 300) return "ok";
  return code >= 400 && code < 500 && code !== 429 ? "refused" : "unknown";
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
