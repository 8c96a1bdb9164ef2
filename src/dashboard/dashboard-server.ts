/**
 * The dashboard's HTTP server: the front end's files, login, requests to the API server with the
 * user's credentials, and the live connection of each page.
 *
 * Promises:
 * 1. With login by link it answers only requests whose Host is its loopback address, so that a name that
 *    an attacker points at 127.0.0.1 reaches nothing. With login by token such a name has no session.
 * 2. Nothing of the cluster is sent without a session: the cookie and the CSRF token together.
 * 3. WebSockets are opened only by pages of its own origin, and end with their session.
 * 4. Without TLS it listens on loopback only.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { messageOf } from "#lib/caught.ts";
import { startHttpServer } from "#lib/http/start-http-server.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { acceptWebSocket } from "#lib/websocket/accept.ts";
import { refusal } from "./api-access.ts";
import { serveLive } from "./live/serve-live.ts";
import type { Login } from "./login/login.ts";
import type { Session, Sessions } from "./login/sessions.ts";
import { DATA_HEADERS, pageHeaders } from "./security-headers.ts";
import type { WebFile } from "./web-files.ts";

const LOOPBACK = "127.0.0.1";
const API_PREFIX = "/k8s";
const API_PATH = /^\/(api|apis|version|openapi|readyz|livez)(\/|$|\?)/;
/** Larger tokens do not fit into the headers of a request to the API server. */
const BODY_BYTES_MAX = 16 * 1024;
const LIMITS = { connectionsMax: 4_096, headersWithinMs: 60_000, requestWithinMs: 60_000 };
const FOR_EVER = "public, max-age=31536000, immutable";
/** The page proves with it that it knows the CSRF token: it cannot set headers on a WebSocket. */
const CSRF_PROTOCOL = "csrf.k8ts.io.";
const LIVE_PROTOCOL = "live.k8ts.io";

export interface DashboardOptions {
  readonly login: Login;
  readonly sessions: Sessions;
  /** Read when the first page is asked for. */
  files(): ReadonlyMap<string, WebFile>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** 0 takes a free one. */
  readonly port: number;
  /** Other addresses than loopback need TLS. */
  readonly tls?: {
    readonly host: string;
    readonly certificate: { readonly cert: string; readonly key: string };
  };
}

export interface DashboardServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`; with TLS the host is not known. */
  readonly origin: string;
  readonly port: number;
}

export async function startDashboardServer(
  options: DashboardOptions,
  signal: AbortSignal,
): Promise<DashboardServer> {
  const { tls } = options;
  const life = new AbortController();
  let dashboard: Dashboard | undefined; // needs the port, which is known when it listens
  const server = await startHttpServer(
    {
      at: { host: tls?.host ?? LOOPBACK, port: options.port },
      tls: tls?.certificate,
      limits: LIMITS,
      request: (request, reply) => {
        dashboard?.serve(request, reply).catch((error) => {
          options.logger.warn("request failed", { error: messageOf(error) });
          reply.destroy();
        });
      },
      upgrade: (request, socket, head) => {
        socket.on("error", () => socket.destroy());
        dashboard?.upgrade(request, socket, head).catch(() => socket.destroy());
      },
    },
    life.signal,
  );
  const { port } = server;
  dashboard = new Dashboard(options, port, signal);
  const scheme = tls === undefined ? "http" : "https";
  const close = async (): Promise<void> => {
    life.abort();
    await server.closed;
  };
  return { origin: `${scheme}://${LOOPBACK}:${port}`, port, [Symbol.asyncDispose]: close };
}

class Dashboard {
  readonly #options: DashboardOptions;
  /** Undefined: any. */
  readonly #hosts: ReadonlySet<string> | undefined;
  readonly #cookie: string;
  readonly #signal: AbortSignal;

  constructor(options: DashboardOptions, port: number, signal: AbortSignal) {
    this.#options = options;
    this.#hosts =
      options.login.by === "link"
        ? new Set([`${LOOPBACK}:${port}`, `localhost:${port}`])
        : undefined;
    // Cookies do not go by port: two dashboards must not overwrite each other's.
    this.#cookie = `k8ts-dashboard-${port}`;
    this.#signal = signal;
  }

  async serve(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const url = request.url ?? "/";
    if (this.#hosts !== undefined && !this.#hosts.has(request.headers.host ?? "")) {
      answer(reply, 421, "this address is not the dashboard's");
      return;
    }
    const path = url.split("?")[0] ?? "";
    if (path === "/session") await this.#session(request, reply);
    else if (url.startsWith(`${API_PREFIX}/`)) await this.#api(url, request, reply);
    else this.#file(path, request, reply);
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const url = request.url ?? "/";
    const protocols = (request.headers["sec-websocket-protocol"] ?? "")
      .split(",")
      .map((name) => name.trim())
      .filter(Boolean);
    const proof = protocols.find((name) => name.startsWith(CSRF_PROTOCOL));
    const csrf = proof?.slice(CSRF_PROTOCOL.length);
    const session = this.#isOwnOrigin(request) ? this.#find(request, csrf) : undefined;
    if (session === undefined) {
      socket.end(refusal(403, "Forbidden"));
      return;
    }
    session.signal.addEventListener("abort", () => socket.destroy(), { once: true });
    if (url === "/live") {
      const { headers } = request;
      const handshake = { socket, head, headers: headers as Record<string, string | undefined> };
      const connection = await acceptWebSocket(handshake, LIVE_PROTOCOL);
      if (connection === undefined) return;
      const life = AbortSignal.any([this.#signal, session.signal]);
      await serveLive(connection, { ...this.#options, api: session.api }, life);
      return;
    }
    const path = apiPathOf(url);
    if (path === undefined) socket.end(refusal(404, "Not Found"));
    else {
      const others = protocols.filter((name) => name !== proof);
      await session.api.forwardUpgrade(path, others, request, socket, head);
    }
  }

  /** POST exchanges a token for a session, GET says whether there is one, DELETE ends it. */
  async #session(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const csrf = headerOf(request, "x-csrf-token");
    switch (request.method) {
      case "POST": {
        if (!this.#isOwnOrigin(request)) return answer(reply, 403, "another origin");
        const text = await bodyOf(request);
        if (text === undefined) return answer(reply, 413, "the token is too long");
        const result = await this.#options.login.login(text, this.#signal);
        if (!result.ok) return answer(reply, result.code, result.message);
        const secrets = this.#options.sessions.open(result.access);
        const secure = this.#options.tls === undefined ? "" : "; Secure";
        const attributes = `Path=/; HttpOnly; SameSite=Strict${secure}`;
        reply.setHeader("set-cookie", `${this.#cookie}=${secrets.session}; ${attributes}`);
        return answer(reply, 200, JSON.stringify({ csrf: secrets.csrf }), "application/json");
      }
      case "GET": {
        const { by } = this.#options.login;
        const code = this.#find(request, csrf) === undefined ? 401 : 200;
        return answer(reply, code, JSON.stringify({ loginBy: by }), "application/json");
      }
      case "DELETE":
        if (this.#find(request, csrf) === undefined) return answer(reply, 401, "no session");
        this.#options.sessions.end(this.#sessionOf(request) ?? "");
        return answer(reply, 200, "");
      default:
        return answer(reply, 405, "method not allowed");
    }
  }

  async #api(url: string, request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const session = this.#find(request, headerOf(request, "x-csrf-token"));
    if (session === undefined) return answer(reply, 401, "no session");
    const origin = request.headers.origin;
    if (origin !== undefined && !this.#isOwnOrigin(request))
      return answer(reply, 403, "another origin");
    const path = apiPathOf(url);
    if (path === undefined) return answer(reply, 404, "not a path of the API server");
    await session.api.forward(path, request, reply);
  }

  /** Every path that is no file is a view of the front end. */
  #file(path: string, request: IncomingMessage, reply: ServerResponse): void {
    if (request.method !== "GET" && request.method !== "HEAD") {
      answer(reply, 405, "method not allowed");
      return;
    }
    const files = this.#options.files();
    const isAsset = /\.\w+$/.test(path) && path.lastIndexOf("/") === 0;
    const file = files.get(path) ?? (isAsset ? undefined : files.get("/index.html"));
    if (file === undefined) {
      answer(reply, 404, "not found");
      return;
    }
    const { brotli, plain, type, isHashed } = file;
    const compressed = /\bbr\b/.test(request.headers["accept-encoding"] ?? "") ? brotli : undefined;
    const body = compressed ?? plain;
    reply.writeHead(200, {
      ...pageHeaders(path),
      "content-type": type,
      "content-length": body.length,
      "cache-control": isHashed ? FOR_EVER : "no-cache",
      vary: "accept-encoding",
      ...(compressed === undefined ? {} : { "content-encoding": "br" }),
    });
    reply.end(request.method === "HEAD" ? undefined : body);
  }

  #isOwnOrigin({ headers }: IncomingMessage): boolean {
    const host = headers.host ?? "";
    const scheme = this.#options.tls === undefined ? "http" : "https";
    if (this.#hosts !== undefined && !this.#hosts.has(host)) return false;
    return host !== "" && headers.origin === `${scheme}://${host}`;
  }

  #find(request: IncomingMessage, csrf: string | undefined): Session | undefined {
    return this.#options.sessions.find(this.#sessionOf(request), csrf);
  }

  #sessionOf({ headers }: IncomingMessage): string | undefined {
    const cookies = (headers.cookie ?? "").split(";").map((pair) => pair.trim());
    const own = cookies.find((pair) => pair.startsWith(`${this.#cookie}=`));
    return own?.slice(this.#cookie.length + 1);
  }
}

/** The path at the API server; undefined if it does not have such a path. */
function apiPathOf(url: string): string | undefined {
  const path = url.slice(API_PREFIX.length);
  return url.startsWith(`${API_PREFIX}/`) && API_PATH.test(path) ? path : undefined;
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : undefined;
}

function answer(
  reply: ServerResponse,
  code: number,
  text: string,
  type = "text/plain; charset=utf-8",
): void {
  reply.writeHead(code, { ...DATA_HEADERS, "content-type": type });
  reply.end(text);
}

/** Undefined if it is too long. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  let text = "";
  for await (const chunk of request) {
    text += chunk;
    if (text.length > BODY_BYTES_MAX) return undefined;
  }
  return text;
}
