/**
 * A gRPC server of unary methods on a unix socket, for few and small requests. It ends with the
 * signal. It needs no library: what a program saves is 4 MB of memory. Node's HTTP/2 is loaded when the first
 * client connects, which on most nodes none ever does.
 */
import { chmod, mkdir, rm } from "node:fs/promises";
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { onAbort } from "#lib/async/aborted.ts";
import { messageOf } from "#lib/caught.ts";
import { messagePrefix } from "./grpc-messages.ts";
import { GRPC_CODES, GrpcError } from "./grpc-status.ts";

const PREFIX_BYTES = 5;
/** Connections and streams at once: who opens more is refused. */
const CONNECTIONS_MAX = 64;
const STREAMS_MAX = 32;

export interface UnaryMethod {
  /** `/v1.PodResourcesLister/List` */
  readonly path: string;
  /** The message of the response for that of the request. */
  answer(request: Buffer): Promise<Buffer>;
}

interface MessagesOf<Request, Response> {
  readonly path: string;
  readonly request: { decode(bytes: Uint8Array): Request };
  readonly response: { encode(message: Response): Buffer };
}

/** `answer` rejects to refuse: a GrpcError has its code, everything else is UNKNOWN. */
export function unaryMethod<Request, Response>(
  { path, request, response }: MessagesOf<Request, Response>,
  answer: (request: Request) => Promise<Response> | Response,
): UnaryMethod {
  return { path, answer: async (bytes) => response.encode(await answer(request.decode(bytes))) };
}

export interface UnixServerOptions {
  readonly socket: string;
  readonly methods: readonly UnaryMethod[];
  readonly requestBytesMax: number;
}

/** Resolves when it listens. A socket that is there already is replaced. */
export async function runUnixServer(
  { socket, methods, requestBytesMax }: UnixServerOptions,
  signal: AbortSignal,
): Promise<void> {
  const byPath = new Map(methods.map((method) => [method.path, method]));
  await mkdir(dirname(socket), { recursive: true, mode: 0o750 });
  await rm(socket, { force: true });
  const sessions = new Set<ServerHttp2Session>();
  const serve = (stream: ServerHttp2Stream, path: string): void => {
    stream.on("error", () => undefined);
    readRequest(stream, requestBytesMax)
      .then((bytes) => answerOf(byPath.get(path), path, bytes))
      .then(
        (message) => respond(stream, message),
        (error: unknown) => refuse(stream, error),
      );
  };
  const server = createServer((connection) => {
    const session = openSession(connection);
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    session.on("stream", (stream, headers) => serve(stream, headers[":path"] ?? ""));
  });
  server.maxConnections = CONNECTIONS_MAX;
  await listen(server, socket);
  await chmod(socket, 0o600);
  onAbort(signal, () => {
    server.close();
    for (const session of sessions) session.destroy();
  });
}

function openSession(connection: Socket): ServerHttp2Session {
  const { performServerHandshake } = process.getBuiltinModule("node:http2");
  connection.on("error", () => undefined);
  const settings = { maxConcurrentStreams: STREAMS_MAX };
  const session = performServerHandshake(connection, { settings });
  session.on("error", () => undefined);
  return session;
}

function listen(server: Server, socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function readRequest(stream: ServerHttp2Stream, bytesMax: number): Promise<Buffer> {
  const bytes = await readAll(stream, bytesMax + PREFIX_BYTES);
  if (bytes === undefined) {
    const message = `Received message larger than max (${bytesMax})`;
    throw new GrpcError(GRPC_CODES.RESOURCE_EXHAUSTED, message);
  }
  if (bytes.length < PREFIX_BYTES || bytes.readUInt32BE(1) !== bytes.length - PREFIX_BYTES) {
    throw new GrpcError(GRPC_CODES.INTERNAL, "the request is not one whole message");
  }
  if (bytes[0] === 0) return bytes.subarray(PREFIX_BYTES);
  throw new GrpcError(GRPC_CODES.UNIMPLEMENTED, "compressed messages are not supported");
}

/** Undefined if there is more. The stream stays open: the refusal is its answer. */
function readAll(stream: ServerHttp2Stream, bytesMax: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    stream.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= bytesMax) chunks.push(chunk);
      else resolve(undefined);
    });
    stream.once("end", () => resolve(Buffer.concat(chunks)));
    stream.once("close", () => reject(new GrpcError(GRPC_CODES.CANCELLED, "the call has ended")));
  });
}

async function answerOf(
  method: UnaryMethod | undefined,
  path: string,
  bytes: Buffer,
): Promise<Buffer> {
  if (method === undefined) {
    const [, service = "", name = ""] = path.split("/");
    throw new GrpcError(GRPC_CODES.UNIMPLEMENTED, `unknown method ${name} for service ${service}`);
  }
  return await method.answer(bytes);
}

function respond(stream: ServerHttp2Stream, message: Buffer): void {
  if (stream.destroyed) return;
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.write(messagePrefix(message.length));
  stream.end(message);
}

function refuse(stream: ServerHttp2Stream, error: unknown): void {
  if (stream.destroyed) return;
  const code = error instanceof GrpcError ? error.code : GRPC_CODES.UNKNOWN;
  stream.respond(
    {
      ":status": 200,
      "content-type": "application/grpc",
      "grpc-status": String(code),
      "grpc-message": encodeURIComponent(messageOf(error)).replaceAll("%20", " "),
    },
    { endStream: true },
  );
}
