/**
 * The HTTPS server of an extension API server: what the aggregation layer proxies to.
 *
 * Promises:
 * 1. Every request but those of health is authenticated and authorized (delegated-access.ts).
 * 2. Only GET is answered. Answers are JSON, compressed if the client takes that, or plain text.
 * 3. It ends with the signal, with all its connections.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Status } from "#api/generated/meta.v1.ts";
import {
  forbiddenStatus,
  internalErrorStatus,
  methodNotSupportedStatus,
  noSuchPathStatus,
  unauthorizedStatus,
} from "#api/meta/status.ts";
import type { RequestInfo, User } from "#apiserver/request/request.ts";
import { requestInfoOf } from "#apiserver/request/request-info.ts";
import { messageOf } from "#lib/caught.ts";
import { startHttpServer } from "#lib/http/start-http-server.ts";
import type { Logger } from "#lib/logger.ts";
import type { DelegatedAccess } from "./delegated-access.ts";

export interface ExtensionRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
}

export type ExtensionAnswer =
  | { readonly code: number; readonly body: object }
  | { readonly code: number; readonly text: string };

export interface ExtensionServerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string };
  readonly access: DelegatedAccess;
  readonly logger: Logger;
  /** Whether connections from this address are taken; all are unless it is given. */
  isAllowed?(address: string): boolean;
  isReady(): boolean;
  /** Undefined: no such path. */
  answer(request: ExtensionRequest): Promise<ExtensionAnswer | undefined>;
}

const LIMITS = { connectionsMax: 1_000, headersWithinMs: 30_000, requestWithinMs: 30_000 };
const ZIP_FROM_CHARACTERS = 128 * 1024;
const TEXT = "text/plain; version=0.0.4; charset=utf-8";
const zipped = promisify(gzip);

/** Answers the port when it listens. */
export async function startExtensionServer(
  options: ExtensionServerOptions,
  signal: AbortSignal,
): Promise<{ readonly port: number; readonly closed: Promise<void> }> {
  const { host, port, tls, access, isAllowed } = options;
  const context = () => {
    const { clientCaPem = "", frontProxyCaPem = "" } = access.authorities;
    const ca = [clientCaPem, frontProxyCaPem].filter((pem) => pem !== "");
    return { ...tls, ca };
  };
  const server = await startHttpServer(
    {
      at: { host, port },
      // Clients without a certificate may have a token.
      tls: { ...context(), clientCertificates: "optional" },
      limits: LIMITS,
      accepts: ({ remoteAddress = "" }) => isAllowed?.(remoteAddress) !== false,
      request: (message, reply) => void respond(options, message, reply),
    },
    signal,
  );
  access.onChange(() => server.renew(context()), signal);
  return server;
}

async function respond(
  options: ExtensionServerOptions,
  message: IncomingMessage,
  reply: ServerResponse,
): Promise<void> {
  try {
    await send(message, reply, await answerOf(options, message));
  } catch (error) {
    options.logger.warn("request failed", { path: message.url, error: messageOf(error) });
    if (reply.headersSent) reply.destroy();
    else await send(message, reply, ofStatus(internalErrorStatus(messageOf(error))));
  }
}

async function answerOf(
  { access, answer, isReady }: ExtensionServerOptions,
  message: IncomingMessage,
): Promise<ExtensionAnswer> {
  const { method = "GET", url = "/", headers } = message;
  const [rawPath = "/", search = ""] = url.split(/\?(.*)/s, 2);
  const path = decoded(rawPath);
  if (path === undefined) return ofStatus(noSuchPathStatus());
  if (path === "/livez" || path === "/healthz") return { code: 200, text: "ok" };
  if (path === "/readyz") {
    return isReady()
      ? { code: 200, text: "ok" }
      : { code: 500, text: "metrics are not collected yet\n" };
  }
  const query = new URLSearchParams(search);
  const info = requestInfoOf(method, path, query);
  const user = await access.userOf(message);
  if (user === undefined) return ofStatus(unauthorizedStatus("Unauthorized"));
  if (!(await access.mayDo(user, info))) return ofStatus(refusal(user, info));
  if (method !== "GET") return ofStatus(methodNotSupportedStatus(resourceOf(info), info.verb));
  const found = await answer({ path, query, accept: headers.accept ?? "" });
  return found ?? ofStatus(noSuchPathStatus());
}

function refusal(user: User, info: RequestInfo): Status {
  const { verb, resource, group, namespace, name, path } = info;
  if (!info.isResource) {
    return forbiddenStatus(
      resourceOf(info),
      "",
      `User "${user.name}" cannot ${verb} path "${path}"`,
    );
  }
  const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const what = `resource "${resource}" in API group "${group}"`;
  const why = `User "${user.name}" cannot ${verb} ${what} ${where}`;
  return forbiddenStatus(resourceOf(info), name, why);
}

function resourceOf({ group, resource }: RequestInfo) {
  return { group, resource };
}

function ofStatus(status: Status): ExtensionAnswer {
  return { code: status.code ?? 500, body: { kind: "Status", apiVersion: "v1", ...status } };
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

async function send(
  { headers }: IncomingMessage,
  reply: ServerResponse,
  answer: ExtensionAnswer,
): Promise<void> {
  const text = "text" in answer ? answer.text : JSON.stringify(answer.body);
  const type = "text" in answer ? TEXT : "application/json";
  const zips =
    text.length >= ZIP_FROM_CHARACTERS && /\bgzip\b/.test(String(headers["accept-encoding"] ?? ""));
  const bytes = zips ? await zipped(text, { level: 1 }) : Buffer.from(text);
  reply.writeHead(answer.code, {
    "content-type": type,
    "content-length": bytes.length,
    "cache-control": "no-cache, private",
    ...(zips ? { "content-encoding": "gzip" } : {}),
  });
  reply.end(bytes);
}
