/** Requests as an attacker sends them: raw bytes on a TLS connection, with or without a client certificate. */
import { connect, type TLSSocket } from "node:tls";
import type { Identity } from "../load/tls-identity.ts";

export interface Target {
  readonly port: number;
  /** Of a user who may edit everything. */
  readonly identity: Identity;
}

/** Undefined: the client shows no certificate. */
export type Certificate = Pick<Identity, "cert" | "key"> | undefined;

const ANSWER_WITHIN_MS = 60_000;

export function openRaw({ port, identity }: Target, certificate: Certificate): Promise<TLSSocket> {
  const socket = connect({
    host: "127.0.0.1",
    port,
    ca: identity.ca,
    ...certificate,
    ALPNProtocols: ["http/1.1"],
  });
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      socket.off("error", reject);
      socket.on("error", () => undefined); // the server may refuse to read on
      resolve(socket);
    });
  });
}

/** Sends one request on a connection of its own. Resolves with the status code; 0 means none came. */
export async function sendRaw(
  target: Target,
  certificate: Certificate,
  head: string,
  body: string | Buffer = "",
): Promise<number> {
  const socket = await openRaw(target, certificate);
  try {
    socket.write(head, "latin1");
    if (body.length > 0) socket.write(body);
    return await statusCodeOf(socket);
  } finally {
    socket.destroy();
  }
}

function statusCodeOf(socket: TLSSocket): Promise<number> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(0), ANSWER_WITHIN_MS);
    const done = (code: number): void => {
      clearTimeout(timer);
      resolve(code);
    };
    socket.once("data", (chunk: Buffer) => done(Number(chunk.toString("latin1", 9, 12))));
    socket.once("close", () => done(0));
  });
}

export function head(
  method: string,
  path: string,
  headers: Readonly<Record<string, string | number>> = {},
): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join("")}\r\n`;
}
