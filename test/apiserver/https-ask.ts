/** One request to an API server over HTTPS, with a token, and its whole answer, whatever protocol it is in. */
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import type { TestServer } from "./test-server.ts";

export interface HttpsAsk {
  readonly method?: string;
  readonly path: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Objects are sent as JSON. */
  readonly body?: object;
}

export interface HttpsAnswer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

/** Where to ask; the folder has the authority to check with. */
export type HttpsPlace = Pick<TestServer, "port" | "directory">;

export function askHttps(server: HttpsPlace, ask: HttpsAsk): Promise<HttpsAnswer> {
  const { method = "GET", path, token, body } = ask;
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: "127.0.0.1",
      port: server.port,
      ca: authorityOf(server),
      method,
      path,
      agent: false,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...ask.headers,
      },
    });
    outgoing.on("error", reject);
    outgoing.on("upgrade", ({ headers }, socket, head) => {
      let text = String(head);
      socket.on("data", (chunk: Buffer) => {
        text += chunk;
      });
      socket.on("end", () => resolve({ code: 101, headers, text, json: undefined }));
    });
    outgoing.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = response.headers["content-type"]?.startsWith("application/json");
        const { statusCode: code = 0, headers } = response;
        resolve({ code, headers, text, json: isJson ? JSON.parse(text) : undefined });
      });
    });
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

export function authorityOf({ directory }: HttpsPlace): string {
  return readFileSync(join(directory, "pki", "ca.crt"), "utf8");
}
