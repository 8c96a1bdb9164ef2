/**
 * The dashboard's HTTP server: the front end's files, login, requests to the API server with the
 * user's credentials, and the live connection of each page.
 *
 * Promises:
 * 1. It listens on loopback only, and answers only requests whose Host is that address, so that a
 *    name that an attacker points at 127.0.0.1 reaches nothing.
 * 2. Nothing of the cluster is sent without a session: the cookie and the CSRF token together.
 * 3. WebSockets are opened only by pages of its own origin.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { acceptWebSocket } from "#lib/websocket/accept.ts";
import { type ApiAccess, refusal } from "./api-access.ts";
import { serveLive } from "./live/serve-live.ts";
import { DATA_HEADERS, pageHeaders } from "./security-headers.ts";
import type { Sessions } from "./sessions.ts";
import type { WebFile } from "./web-files.ts";

const HOST = "127.0.0.1";
const API_PREFIX = "/k8s";
const API_PATH = /^\/(api|apis|version|openapi|readyz|livez)(\/|$|\?)/;
const BODY_BYTES_MAX = 1024;
const FOR_EVER = "public, max-age=31536000, immutable";
/** The page proves with it that it knows the CSRF token: it cannot set headers on a WebSocket. */
const CSRF_PROTOCOL = "csrf.k8ts.io.";
const LIVE_PROTOCOL = "live.k8ts.io";

export interface DashboardOptions {
  readonly api: ApiAccess;
  readonly sessions: Sessions;
  readonly files: ReadonlyMap<string, WebFile>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** 0 takes a free one. */
  readonly port: number;
}

export interface DashboardServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
}

export async function startDashboardServer(
  options: DashboardOptions,
  signal: AbortSignal,
): Promise<DashboardServer> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, HOST, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const dashboard = new Dashboard(options, port, signal);
  server.on("request", (request, reply) => {
    dashboard.serve(request, reply).catch((error) => {
      options.logger.warn("request failed", { error: messageOf(error) });
      reply.destroy();
    });
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    dashboard.upgrade(request, socket, head).catch(() => socket.destroy());
  });
  return { origin: `http://${HOST}:${port}`, [Symbol.asyncDispose]: () => close(server) };
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

class Dashboard {
  readonly #options: DashboardOptions;
  readonly #hosts: ReadonlySet<string>;
  readonly #cookie: string;
  readonly #signal: AbortSignal;

  constructor(options: DashboardOptions, port: number, signal: AbortSignal) {
    this.#options = options;
    this.#hosts = new Set([`${HOST}:${port}`, `localhost:${port}`]);
    // Cookies do not go by port: two dashboards must not overwrite each other's.
    this.#cookie = `k8ts-dashboard-${port}`;
    this.#signal = signal;
  }

  async serve(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const url = request.url ?? "/";
    if (!this.#hosts.has(request.headers.host ?? "")) {
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
    if (!this.#isOwnOrigin(request) || !this.#isSession(request, csrf)) {
      socket.end(refusal(403, "Forbidden"));
      return;
    }
    if (url === "/live") {
      const { headers } = request;
      const handshake = { socket, head, headers: headers as Record<string, string | undefined> };
      const connection = await acceptWebSocket(handshake, LIVE_PROTOCOL);
      if (connection !== undefined) await serveLive(connection, this.#options, this.#signal);
      return;
    }
    const path = apiPathOf(url);
    if (path === undefined) socket.end(refusal(404, "Not Found"));
    else {
      const others = protocols.filter((name) => name !== proof);
      await this.#options.api.forwardUpgrade(path, others, request, socket, head);
    }
  }

  /** POST exchanges the token of the URL for a session, GET tells whether there is one, DELETE ends it. */
  async #session(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const csrf = headerOf(request, "x-csrf-token");
    switch (request.method) {
      case "POST": {
        if (!this.#isOwnOrigin(request)) return answer(reply, 403, "another origin");
        const secrets = this.#options.sessions.exchange(await bodyOf(request));
        if (secrets === undefined) return answer(reply, 401, "the login token is not valid");
        const attributes = "Path=/; HttpOnly; SameSite=Strict";
        reply.setHeader("set-cookie", `${this.#cookie}=${secrets.session}; ${attributes}`);
        return answer(reply, 200, JSON.stringify({ csrf: secrets.csrf }), "application/json");
      }
      case "GET":
        return answer(reply, this.#isSession(request, csrf) ? 200 : 401, "");
      case "DELETE":
        if (!this.#isSession(request, csrf)) return answer(reply, 401, "no session");
        this.#options.sessions.end(this.#sessionOf(request) ?? "");
        return answer(reply, 200, "");
      default:
        return answer(reply, 405, "method not allowed");
    }
  }

  async #api(url: string, request: IncomingMessage, reply: ServerResponse): Promise<void> {
    if (!this.#isSession(request, headerOf(request, "x-csrf-token")))
      return answer(reply, 401, "no session");
    const origin = request.headers.origin;
    if (origin !== undefined && !this.#isOwnOrigin(request))
      return answer(reply, 403, "another origin");
    const path = apiPathOf(url);
    if (path === undefined) return answer(reply, 404, "not a path of the API server");
    await this.#options.api.forward(path, request, reply);
  }

  /** Every path that is no file is a view of the front end. */
  #file(path: string, request: IncomingMessage, reply: ServerResponse): void {
    if (request.method !== "GET" && request.method !== "HEAD") {
      answer(reply, 405, "method not allowed");
      return;
    }
    const { files } = this.#options;
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
    return this.#hosts.has(host) && headers.origin === `http://${host}`;
  }

  #isSession(request: IncomingMessage, csrf: string | undefined): boolean {
    return this.#options.sessions.isValid(this.#sessionOf(request), csrf);
  }

  #sessionOf({ headers }: IncomingMessage): string | undefined {
    const cookies = (headers.cookie ?? "").split(";").map((pair) => pair.trim());
    const own = cookies.find((pair) => pair.startsWith(`${this.#cookie}=`));
    return own?.slice(this.#cookie.length + 1);
  }
}

/** What the API server is asked for; undefined if it is none of its paths. */
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

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) {
    text += chunk;
    if (text.length > BODY_BYTES_MAX) throw new Error("the body is too long");
  }
  return text;
}
