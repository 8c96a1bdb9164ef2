/** Asks a webhook that a kubeconfig file names: its server with the whole path, and who we are there. */
import type { IncomingHttpHeaders } from "node:http";
import { Agent, request } from "node:https";
import { statusFrom } from "#api/meta/status-from.ts";
import type { ConnectStream } from "#apiserver/proxy/connect-stream.ts";
import { throughTunnel } from "#apiserver/webhook/https-caller.ts";
import { type AskWebhook, WebhookError } from "#apiserver/webhook/webhook.ts";
import { type Connection, connectionFromFile } from "#client/kubeconfig.ts";

const ANSWER_BYTES_MAX = 3 * 1024 * 1024;
const TRANSIENT_CODES: ReadonlySet<number> = new Set([429, 500, 504]);

export interface WebhookCallOptions {
  readonly timeoutMs: number;
  /** What comes back matters unless false; then it is enough that it was taken. */
  readonly answers?: boolean;
  /** Makes the connections to the control plane; they are made directly without it. */
  readonly connect: ConnectStream | undefined;
}

export function webhookFrom(
  kubeconfig: string,
  { timeoutMs, answers = true, connect }: WebhookCallOptions,
): AskWebhook {
  const connection = connectionFromFile(kubeconfig);
  const url = new URL(connection.server);
  if (url.protocol !== "https:") throw new Error(`${kubeconfig}: the server must use https`);
  const agent = new Agent({
    keepAlive: true,
    rejectUnauthorized: connection.insecure !== true,
    ...(connection.ca === undefined ? {} : { ca: connection.ca }),
    ...(connection.serverName === undefined ? {} : { servername: connection.serverName }),
    ...(connection.clientCertificate === undefined ? {} : { cert: connection.clientCertificate }),
    ...(connection.clientKey === undefined ? {} : { key: connection.clientKey }),
  });
  if (connect !== undefined) Object.assign(agent, throughTunnel(connect));
  return async (question) => {
    const body = typeof question === "string" ? question : JSON.stringify(question);
    const text = await post(agent, url, await credentialsOf(connection), body, timeoutMs);
    if (!answers) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      throw new WebhookError(`Post "${url}": the answer is no JSON`, false);
    }
  };
}

async function credentialsOf(connection: Connection): Promise<Record<string, string>> {
  const { username, password } = connection;
  const token = await connection.token?.();
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  if (username === undefined) return {};
  const pair = Buffer.from(`${username}:${password ?? ""}`).toString("base64");
  return { authorization: `Basic ${pair}` };
}

function post(
  agent: Agent,
  url: URL,
  credentials: Record<string, string>,
  body: string,
  timeoutMs: number,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string, transient = false): void =>
      reject(new WebhookError(`Post "${url}": ${why}`, transient));
    const headers = {
      ...credentials,
      "content-type": "application/json",
      accept: "application/json",
      "content-length": Buffer.byteLength(body),
    };
    const outgoing = request(url, { agent, method: "POST", headers, timeout: timeoutMs });
    outgoing.on("timeout", () => outgoing.destroy(new Error("no answer in time")));
    outgoing.on("error", (error: NodeJS.ErrnoException) =>
      fail(error.message, error.code === "ECONNRESET"),
    );
    outgoing.on("response", (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on("data", (chunk: Buffer) => {
        length += chunk.length;
        chunks.push(chunk);
        if (length > ANSWER_BYTES_MAX) outgoing.destroy(new Error("the answer is too long"));
      });
      response.on("end", () => {
        const { statusCode: code = 0, headers: got } = response;
        if (code < 200 || code >= 300) {
          const why = statusFrom(code, refusalOf(Buffer.concat(chunks).toString(), got)).message;
          reject(new WebhookError(why ?? "", TRANSIENT_CODES.has(code) || "retry-after" in got));
          return;
        }
        resolve(Buffer.concat(chunks).toString());
      });
    });
    outgoing.end(body);
  });
}

/** A Status or a text; what is neither says nothing. */
function refusalOf(body: string, { "content-type": type = "" }: IncomingHttpHeaders): unknown {
  if (type === "" || type.startsWith("text/")) return body.trim();
  try {
    const parsed = JSON.parse(body) as { kind?: unknown } | null;
    return parsed?.kind === "Status" ? parsed : "unknown";
  } catch {
    return "unknown";
  }
}
