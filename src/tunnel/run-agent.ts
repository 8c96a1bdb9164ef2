/**
 * A Konnectivity agent: it dials out to the servers and makes the connections that they ask for. Behind
 * the address of the servers there may be several; each says how many, and the agent dials until it
 * has a stream to each. A stream that ends is made again: at once, then after a second, twice as long
 * each time up to ten.
 */
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  Metadata,
} from "@grpc/grpc-js";
import { onAbort, untilAborted } from "#lib/async/aborted.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { serveConnections } from "./agent-connections.ts";
import { AGENT_PATH, PACKET, type Packet, packetMethod, type ReadPacket } from "./packet.ts";
import { PacketStream } from "./packet-stream.ts";

export interface AgentOptions {
  /** `host:port` of the servers. */
  readonly target: string;
  readonly credentials: ChannelCredentials;
  /** That the credentials need. */
  readonly channelOptions?: ChannelOptions;
  readonly id: string;
  readonly identifiers: string;
  /** Read for each stream: tokens are rotated. */
  token?(): string;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the number of streams changes. */
  onStreams?(count: number): void;
}

const CONNECT_TIMEOUT_MS = 10_000;

const CHANNEL_OPTIONS = {
  "grpc.max_receive_message_length": 16 * 1024 * 1024,
  // Each stream has a connection of its own: behind one address there may be several servers.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.service_config_disable_resolution": 1,
  "grpc.keepalive_time_ms": 30_000,
};

/** Lives until the signal aborts; then it sends DRAIN to the servers. */
export async function runTunnelAgent(options: AgentOptions, signal: AbortSignal): Promise<void> {
  const { clock, retryMinMs, retryMaxMs, logger } = options;
  const streams = new Map<string, Promise<void>>();
  const ends = new Set<() => void>();
  onAbort(signal, () => {
    for (const end of ends) end();
  });
  const over = untilAborted(signal);
  let wanted = 1;
  let waitMs = 0;
  while (!signal.aborted) {
    if (streams.size >= wanted) await Promise.race([...streams.values(), over]);
    if (signal.aborted) break;
    if (waitMs > 0) await clock.sleep(waitMs, signal).catch(() => undefined);
    const opened = await openStream(options, new Set(streams.keys()), ends);
    if (opened === "known" || opened === undefined) {
      waitMs = Math.min(Math.max(waitMs * 2, retryMinMs), retryMaxMs);
      continue;
    }
    waitMs = 0;
    wanted = opened.serverCount;
    logger.info("connected to a server", { server: opened.serverId, servers: wanted });
    const done = opened.done.then(() => {
      streams.delete(opened.serverId);
      options.onStreams?.(streams.size);
      if (!signal.aborted) logger.warn("a server has gone away", { server: opened.serverId });
    });
    streams.set(opened.serverId, done);
    options.onStreams?.(streams.size);
  }
  await Promise.all(streams.values());
}

interface OpenStream {
  readonly serverId: string;
  readonly serverCount: number;
  readonly done: Promise<void>;
}

/** `known`: a server that the agent has a stream to. Undefined: there was no answer. */
async function openStream(
  { target, credentials, channelOptions, id, identifiers, token, clock, logger }: AgentOptions,
  known: ReadonlySet<string>,
  ends: Set<() => void>,
): Promise<OpenStream | "known" | undefined> {
  const client = new Client(target, credentials, { ...CHANNEL_OPTIONS, ...channelOptions });
  const metadata = new Metadata();
  metadata.set("agentID", id);
  metadata.set("agentIdentifiers", identifiers);
  try {
    if (token !== undefined) metadata.set("Authorization", `Bearer ${token()}`);
  } catch (error) {
    logger.warn("the token cannot be read", { error });
    client.close();
    return undefined;
  }
  const call: ClientDuplexStream<Packet, ReadPacket> = client.makeBidiStreamRequest(
    AGENT_PATH,
    packetMethod.requestSerialize,
    packetMethod.responseDeserialize,
    metadata,
  );
  const cancel = (): void => call.cancel();
  ends.add(cancel);
  const answered = await headersOf(call, clock);
  ends.delete(cancel);
  const serverId = String(answered?.get("serverid")[0] ?? "");
  if (answered === undefined || known.has(serverId)) {
    call.on("error", () => undefined);
    call.cancel();
    client.close();
    return answered === undefined ? undefined : "known";
  }
  const stream = new PacketStream(call);
  const drain = (): void => {
    stream.send({ type: PACKET.drain, drain: {} });
    call.cancel();
  };
  ends.add(drain);
  const done = serveConnections(stream, clock).then(() => {
    ends.delete(drain);
    client.close();
  });
  const serverCount = Math.max(1, Number(answered.get("servercount")[0] ?? 1) || 1);
  return { serverId, serverCount, done };
}

/** Undefined if the server refuses, cannot be reached or does not answer in time. */
function headersOf(
  call: ClientDuplexStream<Packet, ReadPacket>,
  clock: Clock,
): Promise<Metadata | undefined> {
  return new Promise((resolve) => {
    const timeout = clock.schedule(CONNECT_TIMEOUT_MS, () => resolve(undefined));
    const settle = (metadata: Metadata | undefined): void => {
      timeout.cancel();
      resolve(metadata);
    };
    call.on("metadata", settle);
    call.on("error", () => settle(undefined));
    call.on("end", () => settle(undefined));
  });
}
