/** Serves methods described as the kubelet's clients describe them, on a Unix socket. */
import { rmSync } from "node:fs";
import { Server, ServerCredentials, type ServiceDefinition, status } from "@grpc/grpc-js";

interface Codec {
  encode(message: never): Buffer;
  decode(bytes: Uint8Array): object;
}

export interface Method {
  readonly path: string;
  readonly request: Codec;
  readonly response: Codec;
}

/** Answers a call; throws for INTERNAL. */
export type Handler = (request: never) => object | Promise<object>;

export interface Served {
  readonly method: Method;
  readonly handle?: Handler;
  /** A server stream: `send` may be called until the client goes. */
  readonly stream?: (send: (message: object) => void, onGone: (gone: () => void) => void) => void;
}

export async function serveGrpc(socket: string, served: Readonly<Record<string, Served>>) {
  rmSync(socket, { force: true });
  const server = new Server();
  const definition: Record<string, object> = {};
  const handlers: Record<string, unknown> = {};
  for (const [name, { method, handle, stream }] of Object.entries(served)) {
    definition[name] = {
      path: method.path,
      requestStream: false,
      responseStream: stream !== undefined,
      requestSerialize: (message: never) => method.request.encode(message),
      requestDeserialize: (bytes: Buffer) => method.request.decode(bytes),
      responseSerialize: (message: never) => method.response.encode(message),
      responseDeserialize: (bytes: Buffer) => method.response.decode(bytes),
    };
    handlers[name] = stream === undefined ? unary(handle!) : serverStream(stream);
  }
  server.addService(definition as unknown as ServiceDefinition, handlers as never);
  await new Promise<void>((resolve, reject) => {
    const credentials = ServerCredentials.createInsecure();
    server.bindAsync(`unix:${socket}`, credentials, (error) => (error ? reject(error) : resolve()));
  });
  return server;
}

function unary(handle: Handler) {
  return (
    { request }: { request: never },
    done: (error: object | null, answer?: object) => void,
  ): void => {
    Promise.resolve()
      .then(() => handle(request))
      .then(
        (answer) => done(null, answer),
        (error: unknown) => done({ code: status.INTERNAL, details: String(error) }),
      );
  };
}

function serverStream(stream: NonNullable<Served["stream"]>) {
  return (call: {
    write(message: object): void;
    on(event: string, listener: () => void): void;
  }): void => {
    stream(
      (message) => call.write(message),
      (gone) => call.on("cancelled", gone),
    );
  };
}
