/**
 * A node that is not there: a real HTTPS server with an authority of its own that speaks what a
 * kubelet speaks (SPDY/3.1 always, WebSocket if it is enabled), and runs commands that it made up.
 */
import { EventEmitter, once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";
import { Duplex, PassThrough } from "node:stream";
import type { TLSSocket } from "node:tls";
import { SpdyConnection, type SpdyStream } from "#lib/spdy/connection.ts";
import { acceptWebSocket } from "#lib/websocket/accept.ts";
import type { WebSocketConnection } from "#lib/websocket/connection.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";

export interface TestKubelet extends AsyncDisposable {
  readonly port: number;
  readonly caFile: string;
  /** `METHOD path` and how it was asked, in order. */
  readonly asked: {
    line: string;
    by: string;
    upgrade: string;
    headers: IncomingMessage["headers"];
  }[];
  /** Connections that are open. */
  readonly connections: number;
  /** One more line for everyone who follows the log. */
  log(line: string): void;
}

export interface TestKubeletOptions {
  readonly directory: string;
  readonly webSocket?: boolean;
  /** Names in its certificate. */
  readonly names?: readonly string[];
  readonly host?: string;
}

const PROTOCOLS = ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io"];

export async function startTestKubelet(options: TestKubeletOptions): Promise<TestKubelet> {
  const authority = openAuthority(join(options.directory, "kubelet-ca"), "kubelet-ca", Date.now());
  const { certificatePem, keyPem } = issueLeaf(
    authority,
    {
      subject: { commonName: "system:node:test" },
      purpose: "server auth",
      altNames: options.names ?? ["127.0.0.1"],
    },
    Date.now(),
  );
  const asked: TestKubelet["asked"] = [];
  const lines = new EventEmitter();
  const note = (request: IncomingMessage): void => {
    const { CN = "" } = (request.socket as TLSSocket).getPeerCertificate().subject ?? {};
    asked.push({
      line: `${request.method} ${request.url}`,
      by: String(CN),
      upgrade: request.headers.upgrade ?? "",
      headers: request.headers,
    });
  };
  const tls = { cert: certificatePem, key: keyPem, requestCert: true, rejectUnauthorized: false };
  const server = createServer(tls, (request, response) => {
    note(request);
    answer(request, response, lines);
  });
  const sockets = new Set<Duplex>();
  server.on("secureConnection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("upgrade", (request, socket, head) => {
    note(request);
    upgrade(request, socket, head, options.webSocket === true);
  });
  server.listen(0, options.host ?? "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    caFile: join(options.directory, "kubelet-ca.crt"),
    asked,
    get connections() {
      return sockets.size;
    },
    log: (line) => lines.emit("line", line),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function answer(request: IncomingMessage, response: ServerResponse, lines: EventEmitter): void {
  const url = new URL(request.url ?? "/", "https://kubelet");
  if (url.pathname.endsWith("/starting")) {
    response
      .writeHead(400)
      .end('container "starting" in pod "p" is waiting to start: ContainerCreating');
  } else if (url.pathname.endsWith("/gone")) {
    response.writeHead(404).end("no such container");
  } else if (url.pathname.startsWith("/containerLogs/")) {
    response.writeHead(200, { "content-type": "text/plain" });
    response.write("first line\n");
    if (url.searchParams.get("follow") !== "true") response.end();
    else {
      lines.on("line", (line: string) => {
        if (line === "") response.end();
        else response.write(`${line}\n`);
      });
    }
  } else {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ path: request.url, headers: request.headers }));
  }
}

function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, webSocket: boolean): void {
  const url = new URL(request.url ?? "/", "https://kubelet");
  if (url.pathname.endsWith("/refused")) {
    socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnope");
    return;
  }
  if (request.headers.upgrade === "SPDY/3.1") speakSpdy(request, url, socket, head);
  else if (webSocket && request.headers.upgrade?.toLowerCase() === "websocket") {
    void speakWebSocket(request, url, socket, head);
  } else {
    const text = `unable to upgrade: missing upgrade headers in request`;
    socket.end(
      `HTTP/1.1 400 Bad Request\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`,
    );
  }
}

function speakSpdy(request: IncomingMessage, url: URL, socket: Duplex, head: Buffer): void {
  const offered = String(request.headers["x-stream-protocol-version"] ?? "").split(/,\s*/);
  const forwards = url.pathname.startsWith("/portForward/");
  const known = forwards ? ["portforward.k8s.io"] : PROTOCOLS;
  const chosen = offered.find((protocol) => known.includes(protocol));
  const lines = [
    "HTTP/1.1 101 Switching Protocols",
    "Connection: Upgrade",
    "Upgrade: SPDY/3.1",
    ...(chosen === undefined ? [] : [`X-Stream-Protocol-Version: ${chosen}`]),
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const streams = new Map<string, Duplex>();
  const wanted = wantedStreams(url);
  const connection = new SpdyConnection(socket, head, {
    role: "server",
    onStream: (stream) => {
      if (forwards) return echo(stream);
      streams.set(stream.headers.streamtype ?? "", stream.duplex);
      if (wanted.every((name) => streams.has(name))) {
        void runCommand(url, streams)
          .catch(() => undefined) // a client that left has reset the streams
          .finally(() => connection.close());
      }
    },
  });
}

/** What is forwarded comes back in capitals; each connection is a data and an error stream. */
function echo({ headers, duplex }: SpdyStream): void {
  if (headers.streamtype === "error") {
    duplex.end();
    return;
  }
  duplex.on("data", (chunk: Buffer) =>
    duplex.write(`${headers.port}:${String(chunk).toUpperCase()}`),
  );
  duplex.on("end", () => duplex.end());
}

function wantedStreams(url: URL): string[] {
  const asked = (name: string): boolean => url.searchParams.get(name) === "1";
  const tty = asked("tty");
  return [
    "error",
    ...(asked("input") ? ["stdin"] : []),
    ...(asked("output") ? ["stdout"] : []),
    ...(asked("error") && !tty ? ["stderr"] : []),
    ...(tty ? ["resize"] : []),
  ];
}

async function runCommand(url: URL, streams: ReadonlyMap<string, Duplex>): Promise<void> {
  const [program = "cat", ...words] = url.searchParams.getAll("command");
  const stdout = streams.get("stdout");
  const code = await run(program, words, streams);
  const failed = {
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: ${code}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(code) }] },
  };
  const status = code === 0 ? { metadata: {}, status: "Success" } : failed;
  stdout?.end();
  streams.get("stderr")?.end();
  streams.get("error")?.end(JSON.stringify(status));
  await once(streams.get("error")!, "finish");
}

async function run(
  program: string,
  words: readonly string[],
  streams: ReadonlyMap<string, Duplex>,
): Promise<number> {
  const [stdin, stdout, stderr] = ["stdin", "stdout", "stderr"].map((name) => streams.get(name));
  switch (program) {
    case "echo":
      stdout?.write(`${words.join(" ")}\n`);
      return 0;
    case "cat":
      for await (const chunk of stdin ?? new PassThrough().end()) {
        if (stdout?.write(chunk) === false) await once(stdout, "drain");
      }
      return 0;
    case "many": {
      const block = Buffer.alloc(64 * 1024, "x");
      for (let sent = 0; sent < Number(words[0]); sent += block.length) {
        if (stdout?.write(block) === false) await once(stdout, "drain");
      }
      return 0;
    }
    case "size": {
      const [size] = (await once(streams.get("resize")!, "data")) as [Buffer];
      stdout?.write(String(size));
      return 0;
    }
    default:
      stderr?.write(`no ${program}\n`);
      return Number(words[0] ?? 127);
  }
}

async function speakWebSocket(
  request: IncomingMessage,
  url: URL,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const { upgrade, "sec-websocket-key": key, "sec-websocket-version": version } = request.headers;
  const headers = { upgrade, "sec-websocket-key": key, "sec-websocket-version": version };
  const connection = await acceptWebSocket({ socket, head, headers }, "v5.channel.k8s.io");
  if (connection === undefined) return;
  const channels = ["stdin", "stdout", "stderr", "error", "resize"];
  const streams = new Map(
    channels.map((name, channel): [string, Duplex] => [name, channelStream(connection, channel)]),
  );
  void (async () => {
    for await (const { data } of connection.messages()) {
      const [channel = 0, about = 0] = data;
      if (channel === 255) streams.get(channels[about]!)?.push(null);
      else streams.get(channels[channel]!)?.push(data.subarray(1));
    }
  })();
  void runCommand(url, streams)
    .catch(() => undefined) // a client that left has reset the streams
    .finally(() => connection.close());
}

function channelStream(connection: WebSocketConnection, channel: number): Duplex {
  return new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, callback) =>
      void connection.send(Buffer.concat([Buffer.of(channel), chunk])).then(() => callback()),
  });
}
