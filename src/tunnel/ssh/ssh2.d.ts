/** The part of the library `ssh2` that is used here; it has no types of its own. */
declare module "ssh2" {
  import type { EventEmitter } from "node:events";
  import type { Duplex } from "node:stream";

  interface ConnectConfig {
    readonly host: string;
    readonly port: number;
    readonly username: string;
    readonly privateKey: string;
    readonly readyTimeout: number;
    readonly keepaliveInterval: number;
    readonly keepaliveCountMax: number;
  }

  class Client extends EventEmitter {
    connect(config: ConnectConfig): this;
    forwardOut(
      sourceHost: string,
      sourcePort: number,
      host: string,
      port: number,
      opened: (error: Error | undefined, channel: Duplex) => void,
    ): this;
    setNoDelay(noDelay?: boolean): this;
    destroy(): this;
  }

  const library: { readonly Client: typeof Client };
  export = library;
}
