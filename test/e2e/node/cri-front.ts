/**
 * A front of a container runtime on a unix socket that passes every CRI call on and has no container
 * events, as cri-dockerd and CRI-O without `enable_pod_events`. Services beside CRI, such as containerd's
 * own events, are UNIMPLEMENTED. It counts the calls.
 */
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { createConnection, type Socket } from "node:net";
import { GRPC_CODES } from "#lib/grpc/grpc-status.ts";

/** What GetContainerEvents answers: this status, and no event. */
export type EventsAnswer = "UNIMPLEMENTED" | "OK";

export interface CriFront extends AsyncDisposable {
  /** How often each method was called since the front was made, by its name without the service. */
  calls(): ReadonlyMap<string, number>;
}

export async function startCriFront(
  socket: string,
  runtimeSocket: string,
  eventsAnswer: EventsAnswer,
): Promise<CriFront> {
  const calls = new Map<string, number>();
  const sockets = new Set<Socket>();
  const server = createServer();
  server.on("connection", (connection: Socket) => {
    sockets.add(connection);
    connection.on("close", () => sockets.delete(connection));
  });
  server.on("session", (session) => {
    const runtime = connectRuntime(runtimeSocket);
    runtime.on("close", () => session.close());
    session.on("close", () => runtime.destroy());
    session.on("error", () => undefined);
    session.on("stream", (stream, headers) => {
      const path = String(headers[":path"]);
      const name = path.slice(path.lastIndexOf("/") + 1);
      calls.set(name, (calls.get(name) ?? 0) + 1);
      if (name === "GetContainerEvents") refuse(stream, GRPC_CODES[eventsAnswer]);
      else if (!path.startsWith("/runtime.v1.")) refuse(stream, GRPC_CODES.UNIMPLEMENTED);
      else pass(stream, headers, runtime);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket, resolve);
  });
  return {
    calls: () => new Map(calls),
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const connection of sockets) connection.destroy();
      await closed;
    },
  };
}

function connectRuntime(path: string): ClientHttp2Session {
  const runtime = connect("http://localhost", { createConnection: () => createConnection(path) });
  runtime.on("error", () => undefined);
  return runtime;
}

function pass(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  runtime: ClientHttp2Session,
): void {
  const passed = runtime.request(headers);
  let trailers: IncomingHttpHeaders = {};
  passed.on("response", (response) => {
    if (!stream.destroyed) stream.respond(response, { waitForTrailers: true });
    passed.pipe(stream);
  });
  passed.on("trailers", (received) => {
    trailers = received;
  });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  passed.on("error", () => stream.close());
  stream.on("error", () => undefined);
  stream.on("aborted", () => passed.close());
  stream.pipe(passed);
}

function refuse(stream: ServerHttp2Stream, code: number): void {
  stream.on("error", () => undefined);
  stream.resume();
  stream.respond(
    { ":status": 200, "content-type": "application/grpc", "grpc-status": String(code) },
    { endStream: true },
  );
}
