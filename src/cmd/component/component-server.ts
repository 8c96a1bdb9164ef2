/**
 * Serves /healthz, /livez and /readyz to all, and their single checks, /metrics, /metrics/slis and the
 * component's own pages to users whom the API server authorizes. They authenticate with a token, or a client certificate: of the authorities in the file of `--client-ca-file`, which is
 * reloaded, else of those that the API server publishes.
 */

import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import type { TokenReview } from "#api/generated/authentication.v1.ts";
import type { SubjectAccessReview } from "#api/generated/authorization.v1.ts";
import { tokenReviewKind } from "#api/kinds/authentication/v1/reviews.ts";
import { subjectAccessReviewKind } from "#api/kinds/authorization/v1/access-reviews.ts";
import { healthCounts } from "#apiserver/health/health-counts.ts";
import {
  type HealthAnswer,
  type HealthCheck,
  type HealthChecks,
  healthAnswers,
} from "#apiserver/health/health-paths.ts";
import type { Client } from "#client/client.ts";
import { startHttpServer } from "#lib/http/start-http-server.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { verifiedSubject } from "#pki/verified-subject.ts";
import { watchFiles } from "#pki/watch-files.ts";
import { followClientAuthorities } from "./client-authorities.ts";

/** Upstream's default of `--authorization-always-allow-paths`. */
const OPEN: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"]);

const PING: HealthCheck = { name: "ping", check: () => undefined };

export interface ComponentServerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string };
  /** Authorities of client certificates; those that the API server publishes unless given. */
  readonly clientCaFile?: string | undefined;
  readonly metrics: Metrics;
  /** Asked who sends a token and what they may read. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Paths without a check have `ping`. */
  readonly checks?: Partial<HealthChecks>;
  /** Other pages, also authorized; undefined for a path that does not exist. */
  page?(path: string): string | undefined;
}

/** Answers the port when it listens; ends with the signal. */
export async function startComponentServer(
  options: ComponentServerOptions,
  signal: AbortSignal,
): Promise<number> {
  const { host, port, tls, clientCaFile, clock } = options;
  const health = healthOf(options);
  // An empty list: without one, the authorities of the public web would count.
  const context = { ...tls, ca: [] as string[] };
  const server = await startHttpServer(
    {
      at: { host, port },
      // Clients without a certificate may still show a token.
      tls: { ...context, clientCertificates: "optional" },
      request: (request, reply) => {
        answer(request, options, health).then(
          ([code, text]) => send(reply, code, text),
          (error: unknown) => send(reply, 500, `${error}\n`),
        );
      },
    },
    signal,
  );
  const trust = (pem: string): void => server.renew({ ...context, ca: pem });
  if (clientCaFile === undefined) followClientAuthorities(options, trust, signal);
  else {
    const read = (): void => trust(readFileSync(clientCaFile, "utf8"));
    read();
    watchFiles([clientCaFile], read, clock, signal);
  }
  return server.port;
}

interface Health {
  answer(path: string, query: URLSearchParams): Promise<HealthAnswer> | undefined;
  /** The state of each check and how often it was asked, for /metrics/slis. */
  metrics(): Promise<string>;
}

function healthOf({ checks = {}, clock, logger }: ComponentServerOptions): Health {
  const { healthz = [PING], livez = [PING], readyz = [PING] } = checks;
  const all: HealthChecks = { healthz, livez, readyz };
  const { count, text } = healthCounts(all);
  return {
    answer: healthAnswers({ checks: all, count, clock, logger }),
    metrics: text,
  };
}

async function answer(
  { method, url = "/", headers, socket }: IncomingMessage,
  { client, metrics, page }: ComponentServerOptions,
  health: Health,
): Promise<readonly [code: number, text: string]> {
  const [path = "/", search = ""] = url.split("?", 2);
  if (method !== "GET") return [405, "Method Not Allowed\n"];
  const healthAnswer = async (): Promise<readonly [number, string] | undefined> => {
    const found = await health.answer(path, new URLSearchParams(search));
    return found && [found.code, found.text];
  };
  if (OPEN.has(path)) return (await healthAnswer())!;
  const user =
    certificateUser(socket as TLSSocket) ?? (await tokenUser(client, headers.authorization));
  if (user === undefined) return [401, "Unauthorized\n"];
  if (!(await mayRead(client, user, path))) return [403, "Forbidden\n"];
  const found = await healthAnswer();
  if (found !== undefined) return found;
  if (path === "/metrics") return [200, metrics.text()];
  if (path === "/metrics/slis") return [200, await health.metrics()];
  const text = page?.(path);
  return text === undefined ? [404, "404 page not found\n"] : [200, text];
}

interface User {
  readonly user: string;
  readonly groups: readonly string[];
  readonly uid?: string;
}

/** The group of all authenticated users; for tokens the API server adds it itself. */
const AUTHENTICATED = "system:authenticated";

function certificateUser(socket: TLSSocket): User | undefined {
  const subject = verifiedSubject(socket);
  if (subject === undefined || subject.name === "") return undefined;
  return { user: subject.name, groups: [...subject.groups, AUTHENTICATED] };
}

async function tokenUser(client: Client, header: string | undefined): Promise<User | undefined> {
  const token = /^Bearer (.+)$/.exec(header ?? "")?.[1];
  if (token === undefined) return undefined;
  const review = await client.ask(tokenReviewKind, {
    apiVersion: tokenReviewKind.apiVersion,
    kind: "TokenReview",
    metadata: {},
    spec: { token },
  } as TokenReview);
  if (!review.ok || review.value.status?.authenticated !== true) return undefined;
  const { username = "", groups = [], uid = "" } = review.value.status.user ?? {};
  return { user: username, groups, uid };
}

async function mayRead(client: Client, user: User, path: string): Promise<boolean> {
  const question = {
    apiVersion: subjectAccessReviewKind.apiVersion,
    kind: "SubjectAccessReview",
    metadata: {},
    spec: { ...user, nonResourceAttributes: { path, verb: "get" } },
  } as SubjectAccessReview;
  const access = await client.ask(subjectAccessReviewKind, question);
  return access.ok && access.value.status?.allowed === true;
}

function send(reply: ServerResponse, code: number, text: string): void {
  reply.writeHead(code, { "content-type": "text/plain; charset=utf-8" });
  reply.end(text);
}
