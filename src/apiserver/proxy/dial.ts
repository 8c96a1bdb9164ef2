/**
 * Requests a connection upgrade from another server. Errors have the texts that upstream's clients
 * know.
 */
import { type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Duplex } from "node:stream";
import { createConnectionThrough } from "./connect-stream.ts";
import { dialFault } from "./dial-fault.ts";
import type { Target } from "./target.ts";

const CONNECT_WITHIN_MS = 30_000;

export interface UpgradeRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** What the connection should speak. */
  readonly protocol: string;
  readonly target: Target;
}

export type UpgradeAnswer =
  | {
      readonly outcome: "upgraded";
      readonly response: IncomingMessage;
      readonly socket: Duplex;
      /** What came along with the answer. */
      readonly head: Buffer;
    }
  | { readonly outcome: "answered"; readonly response: IncomingMessage };

/** Rejects, saying why, if the target cannot be reached. */
export function requestUpgrade(
  { method, headers, protocol, target }: UpgradeRequest,
  signal: AbortSignal,
): Promise<UpgradeAnswer> {
  return new Promise((resolve, reject) => {
    const { secure, host, port, path, tls } = target;
    const outgoing = (secure ? requestHttps : requestHttp)({
      method,
      host,
      port,
      path,
      ...connectionOf(target),
      signal,
      headers: { ...headers, connection: "Upgrade", upgrade: protocol },
      ...(secure ? { ...tls, rejectUnauthorized: tls?.verify ?? false } : {}),
    });
    limitConnecting(outgoing, target);
    outgoing.on("error", (error) => reject(new Error(dialFault(error, target))));
    outgoing.on("response", (response) => resolve({ outcome: "answered", response }));
    outgoing.on("upgrade", (response, socket, head) => {
      socket.setTimeout(0);
      socket.setNoDelay(true);
      resolve({ outcome: "upgraded", response, socket, head });
    });
    outgoing.end();
  });
}

/** For requests: a connection of their own, made by the target's tunnel if it has one. */
export function connectionOf(target: Target): RequestOptions {
  const { connect, secure, tls } = target;
  if (connect === undefined) return { agent: false };
  const options = secure ? { ...tls, rejectUnauthorized: tls?.verify ?? false } : undefined;
  return {
    createConnection: (_options, created) => {
      createConnectionThrough(connect, target, options, created);
      return undefined;
    },
  };
}

/** A target that cannot be reached is found out soon; one that answers slowly is its own affair. */
export function limitConnecting(
  outgoing: ReturnType<typeof requestHttp>,
  { connectWithinMs = CONNECT_WITHIN_MS }: Target,
): void {
  outgoing.on("socket", (socket) => {
    if (!socket.connecting) return; // one that was used before
    const giveUp = (): void => void outgoing.destroy(new Error("i/o timeout"));
    socket.setTimeout(connectWithinMs);
    socket.once("timeout", giveUp);
    socket.once("connect", () => {
      socket.off("timeout", giveUp);
      socket.setTimeout(0);
    });
  });
}
