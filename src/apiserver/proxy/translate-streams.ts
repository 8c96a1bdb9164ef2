/**
 * Exec and attach for clients that speak WebSocket (v5.channel.k8s.io) to kubelets that speak SPDY
 * only: each numbered channel of the WebSocket is a stream of the kubelet's.
 *
 * Promises:
 * 1. The client is answered first; later errors are sent as a Status on the error channel, where
 *    clients also read the exit code.
 * 2. The client's `close` of its standard input ends the command's.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Status } from "#api/generated/meta.v1.ts";
import { internalErrorStatus } from "#api/meta/status.ts";
import { onAbort } from "#lib/async/aborted.ts";
import { drained } from "#lib/async/drained.ts";
import { messageOf } from "#lib/caught.ts";
import { SpdyConnection } from "#lib/spdy/connection.ts";
import { acceptWebSocket } from "#lib/websocket/accept.ts";
import type { WebSocketConnection } from "#lib/websocket/connection.ts";
import { askedProtocols, type ClientConnection } from "./client-connection.ts";
import { requestUpgrade, type UpgradeRequest } from "./dial.ts";
import { exitStatus } from "./exit-status.ts";
import { SPDY } from "./tunnel-spdy.ts";

export interface WantedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

const PROTOCOL = "v5.channel.k8s.io";
/** What kubelets may answer with, the newest first. */
const KUBELET_PROTOCOLS = ["v5", "v4", "v3", "v2"].map((version) => `${version}.channel.k8s.io`);
/** In these a kubelet always writes a Status to the error stream. */
const STATUS_PROTOCOLS = KUBELET_PROTOCOLS.slice(0, 2);
/** Without a Status the client would take the end of the connection for success. */
const LOST = "error reading from error stream: the connection to the kubelet was lost";
const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
const FAULT_BYTES_MAX = 64 * 1024;

/** Whether the client speaks what is translated here. */
export function wantsTranslation(headers: ClientConnection["headers"]): boolean {
  return askedProtocols(headers).includes(PROTOCOL);
}

export async function translateStreams(
  request: UpgradeRequest,
  wanted: WantedStreams,
  client: ClientConnection,
): Promise<void> {
  const socket = await acceptWebSocket(client, PROTOCOL);
  if (socket === undefined) return;
  const send = (channel: number, data: Uint8Array): Promise<void> =>
    socket.send(Buffer.concat([Buffer.of(channel), data]));
  // An empty message signals the client that the streams are ready.
  const first = wanted.stdout ? CHANNEL.stdout : wanted.stderr ? CHANNEL.stderr : CHANNEL.error;
  await send(first, new Uint8Array(0));
  const status = await run(request, wanted, client, socket, send);
  await send(CHANNEL.error, Buffer.from(JSON.stringify(status)));
  socket.close();
}

async function run(
  request: UpgradeRequest,
  wanted: WantedStreams,
  client: ClientConnection,
  socket: WebSocketConnection,
  send: (channel: number, data: Uint8Array) => Promise<void>,
): Promise<Status> {
  const connected = await connect(request, client);
  if (!("spdy" in connected)) return connected;
  const { spdy } = connected;
  const gone = (): void => spdy.close();
  onAbort(client.signal, gone);
  try {
    const streams = await openStreams(spdy, wanted);
    const error = collect(streams.error);
    const outputs = [
      copy(streams.stdout, (data) => send(CHANNEL.stdout, data)),
      copy(streams.stderr, (data) => send(CHANNEL.stderr, data)),
    ];
    void takeInput(socket, streams).finally(() => streams.stdin?.end());
    await Promise.all(outputs);
    const sent = await error;
    if (sent === "" && connected.alwaysSendsStatus) return internalErrorStatus(LOST);
    return exitStatus(sent);
  } catch (error) {
    return internalErrorStatus(messageOf(error));
  } finally {
    client.signal.removeEventListener("abort", gone);
    spdy.close();
  }
}

interface Kubelet {
  readonly spdy: SpdyConnection;
  /** It writes a Status to the error stream when a command ends, also on success. */
  readonly alwaysSendsStatus: boolean;
}

async function connect(
  request: UpgradeRequest,
  { signal }: ClientConnection,
): Promise<Kubelet | Status> {
  const { target } = request;
  try {
    const answer = await requestUpgrade(
      {
        target,
        method: "POST",
        protocol: SPDY,
        headers: { "x-stream-protocol-version": KUBELET_PROTOCOLS },
      },
      signal,
    );
    if (answer.outcome === "upgraded") {
      const spdy = new SpdyConnection(answer.socket, answer.head, { role: "client" });
      const version = answer.response.headers["x-stream-protocol-version"];
      return { spdy, alwaysSendsStatus: STATUS_PROTOCOLS.includes(String(version)) };
    }
    return await refusalStatus(answer.response);
  } catch (error) {
    const why = `error sending request: Post "${target.shown}": ${messageOf(error)}`;
    return internalErrorStatus(why);
  }
}

/** The kubelet's Status as it is, any other text as the reason. */
async function refusalStatus(response: IncomingMessage): Promise<Status> {
  let text = "";
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length > FAULT_BYTES_MAX) break;
  }
  try {
    const status = JSON.parse(text) as Status;
    if (status.kind === "Status") return status;
  } catch {
    // not a Status
  }
  return internalErrorStatus(`unable to upgrade connection: ${text.trim() || "unknown"}`);
}

interface Streams {
  readonly error: Duplex;
  readonly stdin: Duplex | undefined;
  readonly stdout: Duplex | undefined;
  readonly stderr: Duplex | undefined;
  readonly resize: Duplex | undefined;
}

/** In upstream's order, one after the other. */
async function openStreams(connection: SpdyConnection, wanted: WantedStreams): Promise<Streams> {
  const open = async (streamtype: string, when: boolean): Promise<Duplex | undefined> =>
    when ? (await connection.open({ streamtype })).duplex : undefined;
  return {
    error: (await connection.open({ streamtype: "error" })).duplex,
    stdin: await open("stdin", wanted.stdin),
    stdout: await open("stdout", wanted.stdout),
    stderr: await open("stderr", wanted.stderr && !wanted.tty),
    resize: await open("resize", wanted.tty),
  };
}

async function copy(
  from: Duplex | undefined,
  to: (data: Uint8Array) => Promise<void>,
): Promise<void> {
  if (from === undefined) return;
  for await (const chunk of from.iterator({ destroyOnReturn: false })) await to(chunk as Buffer);
}

async function collect(stream: Duplex): Promise<string> {
  let text = "";
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    if (text.length < FAULT_BYTES_MAX) text += String(chunk);
  }
  return text;
}

/** What the client types, until it is gone. */
async function takeInput(socket: WebSocketConnection, { stdin, resize }: Streams): Promise<void> {
  try {
    for await (const { data } of socket.messages()) {
      const [channel = -1] = data;
      const rest = data.subarray(1);
      if (channel === CHANNEL.close && rest[0] === CHANNEL.stdin) stdin?.end();
      else if (channel === CHANNEL.stdin && rest.length > 0) await write(stdin, rest);
      else if (channel === CHANNEL.resize && rest.length > 0) await write(resize, rest);
    }
  } catch {
    socket.destroy();
  }
}

async function write(stream: Duplex | undefined, data: Buffer): Promise<void> {
  if (stream === undefined || stream.writableEnded || stream.destroyed) return;
  if (!stream.write(data)) await drained(stream);
}
