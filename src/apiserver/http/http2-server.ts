/** HTTP/2 on connections that agreed on it. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import type { ProtocolOptions } from "./http1-server.ts";
import { Http2Exchange } from "./http2-exchange.ts";

const STREAMS_PER_CONNECTION_MAX = 250;

export interface Http2Options extends ProtocolOptions {
  /** Requests at a time on one connection; upstream's number unless given, or 0. */
  readonly streamsMax?: number | undefined;
  /**
   * Asked once for each request: true ends its connection after the requests on it, so that the
   * client connects again and a load balancer may choose another server.
   */
  wantsGoaway(): boolean;
}

/** Answers what serves a connection. */
export function createHttp2Server(options: Http2Options): (socket: TLSSocket) => void {
  const { runner, peers, connections, idleMaxMs, streamsMax, wantsGoaway } = options;
  // Loaded where connections are, which often is in another thread: it takes its time.
  const { performServerHandshake } = process.getBuiltinModule("node:http2");
  const sessionOptions = {
    settings: {
      maxConcurrentStreams: streamsMax || STREAMS_PER_CONNECTION_MAX,
      initialWindowSize: 1024 * 1024,
    },
    maxSessionMemory: 64,
  };
  return (socket) => {
    const session = performServerHandshake(socket, sessionOptions);
    connections.addSession(socket, session);
    session.on("error", () => undefined);
    // Starts anew with whatever is sent; a quiet watch keeps the connection, so it is asked again.
    session.on("timeout", () => {
      if (connections.isBusy(socket)) session.setTimeout(idleMaxMs);
      else session.close();
    });
    session.setTimeout(idleMaxMs);
    // The types do not know the last argument; node does (https://nodejs.org/api/http2.html).
    const onStream = (
      stream: ServerHttp2Stream,
      headers: IncomingHttpHeaders,
      _flags: number,
      rawHeaders: readonly string[] = [],
    ): void => {
      connections.occupy(socket);
      const peer = peers.at(socket);
      runner.run(new Http2Exchange(stream, headers, rawHeaders, peer, connections, socket));
      // Both after what is asked on it by now.
      if (peers.isOutdated(socket) || wantsGoaway()) session.close();
    };
    session.on("stream", onStream);
  };
}
