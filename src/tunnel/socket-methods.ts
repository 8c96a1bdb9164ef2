/** Gives a stream the methods that HTTP clients call on sockets and that mean nothing here. */
import type { Duplex } from "node:stream";

export function withSocketMethods(stream: Duplex): Duplex {
  const none = (): Duplex => stream;
  const methods = {
    ...{ setTimeout: none, setNoDelay: none, setKeepAlive: none, ref: none, unref: none },
  };
  return Object.assign(stream, { connecting: false, ...methods });
}
