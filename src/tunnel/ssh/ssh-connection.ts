/**
 * One connection to the SSH server of a node, through which any number of connections are made from
 * there. The node's host key is not verified, as upstream's tunnels never did.
 */
import { Duplex } from "node:stream";
import { onAbort } from "#lib/async/aborted.ts";
import { withSocketMethods } from "../socket-methods.ts";

export interface SshConnection {
  /** Rejects, saying why, if the node cannot reach the address. */
  dial(host: string, port: number): Promise<Duplex>;
  /** Resolves when it has ended, with the reason if there is one. */
  readonly ended: Promise<Error | undefined>;
  close(): void;
}

export interface SshTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** PEM. */
  readonly privateKey: string;
}

export type OpenSshConnection = (target: SshTarget, signal: AbortSignal) => Promise<SshConnection>;

/** From the first packet to the end of authentication. */
const READY_WITHIN_MS = 30_000;
const KEEP_ALIVE_MS = 10_000;
const KEEP_ALIVES_MISSED_MAX = 3;
const CHANNELS_MAX = 10_000;

/** Rejects if the node cannot be reached or does not accept the key. */
export async function openSshConnection(
  { user, ...target }: SshTarget,
  signal: AbortSignal,
): Promise<SshConnection> {
  const { SshClient } = await import("./ssh-client.ts");
  const client = new SshClient();
  let reason: Error | undefined;
  const ready = new Promise<void>((resolve, reject) => {
    client.on("ready", resolve);
    client.on("error", (error: Error) => {
      reason ??= error;
      reject(error);
    });
    client.on("close", () => reject(reason ?? new Error("the SSH server has closed")));
  });
  const ended = new Promise<Error | undefined>((resolve) => {
    client.on("close", () => resolve(reason));
  });
  const close = (): void => void client.destroy();
  onAbort(signal, close);
  void ended.then(() => signal.removeEventListener("abort", close));
  client.connect({
    ...{ ...target, username: user, readyTimeout: READY_WITHIN_MS },
    ...{ keepaliveInterval: KEEP_ALIVE_MS, keepaliveCountMax: KEEP_ALIVES_MISSED_MAX },
  });
  // Without it each small packet after another waits 40 ms for an acknowledgement.
  client.setNoDelay();
  try {
    await ready;
  } catch (error) {
    client.destroy();
    throw error;
  }
  const channels = new Set<Duplex>();
  // At once: the library itself ends channels right after this event as if all were well, and its own
  // `destroy` knows no errors.
  client.on("close", () => {
    const detail = reason === undefined ? "" : `: ${reason.message}`;
    const why = new Error(`the SSH tunnel to ${target.host} has ended${detail}`);
    for (const channel of channels) Duplex.prototype.destroy.call(channel, why);
  });
  const dial = (host: string, port: number): Promise<Duplex> =>
    new Promise((resolve, reject) => {
      if (channels.size >= CHANNELS_MAX) {
        reject(new Error(`dial tcp ${host}:${port}: too many connections`));
        return;
      }
      const gone = (error: Error | undefined): void =>
        reject(error ?? new Error("the SSH tunnel has ended"));
      void ended.then(gone);
      client.forwardOut("127.0.0.1", 0, host, port, (error, channel) => {
        if (error !== undefined) {
          reject(new Error(`dial tcp ${host}:${port}: ${error.message}`));
          return;
        }
        channels.add(channel);
        channel.on("close", () => channels.delete(channel));
        channel.on("error", () => undefined); // a close follows
        resolve(withSocketMethods(channel));
      });
    });
  return { dial, ended, close };
}
