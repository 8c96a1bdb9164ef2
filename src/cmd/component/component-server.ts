/**
 * What a component tells of itself over HTTPS: to anybody that it lives, and its metrics to those
 * whom the API server lets read them.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TokenReview } from "#api/generated/authentication.v1.ts";
import type { SubjectAccessReview } from "#api/generated/authorization.v1.ts";
import { tokenReviewKind } from "#api/kinds/authentication/v1/reviews.ts";
import { subjectAccessReviewKind } from "#api/kinds/authorization/v1/access-reviews.ts";
import { withoutRenegotiation } from "#apiserver/http/without-renegotiation.ts";
import type { Client } from "#client/client.ts";
import type { Metrics } from "#lib/metrics.ts";

const ALIVE: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"]);
const CONNECTIONS_MAX = 100;
const REQUEST_TIMEOUT_MS = 10_000;

export interface ComponentServerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string };
  readonly metrics: Metrics;
  /** Asked who sends a token and what they may read. */
  readonly client: Client;
  /** Other pages, for those who may read them; undefined for a path that does not exist. */
  page?(path: string): string | undefined;
}

/** Answers the port when it listens; ends with the signal. */
export async function startComponentServer(
  options: ComponentServerOptions,
  signal: AbortSignal,
): Promise<number> {
  const { host, port, tls } = options;
  const server = createServer(
    { ...withoutRenegotiation(tls), requestTimeout: REQUEST_TIMEOUT_MS },
    (request, reply) => {
      answer(request, options).then(
        ([code, text]) => send(reply, code, text),
        (error: unknown) => send(reply, 500, `${error}\n`),
      );
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  signal.addEventListener(
    "abort",
    () => {
      server.close();
      server.closeAllConnections();
    },
    { once: true },
  );
  return (server.address() as AddressInfo).port;
}

async function answer(
  { method, url = "/", headers }: IncomingMessage,
  { client, metrics, page }: ComponentServerOptions,
): Promise<readonly [code: number, text: string]> {
  const [path = "/"] = url.split("?", 1);
  if (method !== "GET") return [405, "Method Not Allowed\n"];
  if (ALIVE.has(path)) return [200, "ok"];
  const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
  if (token === undefined) return [401, "Unauthorized\n"];
  const access = await accessOf(client, token, path);
  if (access !== 200) return [access, access === 401 ? "Unauthorized\n" : "Forbidden\n"];
  const text = path === "/metrics" ? metrics.text() : page?.(path);
  return text === undefined ? [404, "404 page not found\n"] : [200, text];
}

async function accessOf(client: Client, token: string, path: string): Promise<200 | 401 | 403> {
  const review = await client.ask(tokenReviewKind, {
    apiVersion: tokenReviewKind.apiVersion,
    kind: "TokenReview",
    metadata: {},
    spec: { token },
  } as TokenReview);
  if (!review.ok || review.value.status?.authenticated !== true) return 401;
  const { username = "", groups = [], uid = "" } = review.value.status.user ?? {};
  const question = {
    apiVersion: subjectAccessReviewKind.apiVersion,
    kind: "SubjectAccessReview",
    metadata: {},
    spec: { user: username, groups, uid, nonResourceAttributes: { path, verb: "get" } },
  } as SubjectAccessReview;
  const access = await client.ask(subjectAccessReviewKind, question);
  return access.ok && access.value.status?.allowed === true ? 200 : 403;
}

function send(reply: ServerResponse, code: number, text: string): void {
  reply.writeHead(code, { "content-type": "text/plain; charset=utf-8" });
  reply.end(text);
}
