/** Connections that are made by a tunnel instead of directly. */
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls } from "node:tls";

/** Rejects, saying why, if there is no way to the address. */
export type ConnectStream = (host: string, port: number) => Promise<Duplex>;

type Created = (error: Error | null, stream: Duplex) => void;

/** As `createConnection` of HTTP requests and agents; `tls`: speak TLS over the stream. */
export function createConnectionThrough(
  connect: ConnectStream,
  { host, port }: { readonly host: string; readonly port: number },
  tls: ConnectionOptions | undefined,
  created: Created,
): void {
  connect(host, port).then(
    (socket) => created(null, tls === undefined ? socket : connectTls({ ...tls, host, socket })),
    (error: Error) => created(error, undefined as never),
  );
}
