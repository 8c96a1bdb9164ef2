/**
 * A Konnectivity agent: it dials out to the servers and makes the connections that they ask for. Behind
 * the address of the servers there may be several; each says how many, and the agent dials until it
 * has a stream to each. A stream that ends is made again: at once, then after a second, twice as long
 * each time up to ten.
 *
 * An agent that drains sends DRAIN, so that servers choose others for new connections, and ends when
 * its last connection has ended.
 */
import type {
  ChannelCredentials,
  ChannelOptions,
  ClientDuplexStream,
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
  /** Looks for more servers every `retryMaxMs`, also when it has a stream to each that it knows of. */
  readonly syncForever?: boolean;
  /** How often an idle connection is checked. */
  readonly keepaliveMs?: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the number of streams changes. */
  onStreams?(count: number): void;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** Within which a server has to end the stream of an agent that has drained. */
const END_TIMEOUT_MS = 1_000;

const CHANNEL_OPTIONS = {
  "grpc.max_receive_message_length": 16 * 1024 * 1024,
  // Each stream has a connection of its own: behind one address there may be several servers.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.service_config_disable_resolution": 1,
  "grpc.keepalive_permit_without_calls": 1,
};
/** Upstream's servers disconnect clients that ask more often than every 30 s. */
const KEEPALIVE_MS = 60_000;

/** Lives until `signal` aborts, or until it has drained after `drain` has. */
export async function runTunnelAgent(
  options: AgentOptions,
  signal: AbortSignal,
  drain: AbortSignal = signal,
): Promise<void> {
  const { clock, retryMinMs, retryMaxMs, logger } = options;
  const streams = new Map<string, Promise<void>>();
  const ends = { now: new Set<() => void>(), drained: new Set<() => void>() };
  onAbort(drain, () => {
    for (const end of [...ends.drained]) end();
  });
  onAbort(signal, () => {
    for (const end of [...ends.now]) end();
  });
  const leaving = AbortSignal.any([signal, drain]);
  const over = untilAborted(leaving);
  let wanted = 1;
  let waitMs = 0;
  while (!leaving.aborted) {
    if (streams.size >= wanted) {
      const next = options.syncForever === true ? [pause(retryMaxMs, clock, leaving)] : [];
      await Promise.race([...streams.values(), over, ...next]);
    }
    if (leaving.aborted) break;
    if (waitMs > 0) await pause(waitMs, clock, leaving);
    if (leaving.aborted) break;
    const opened = await openStream(options, new Set(streams.keys()), ends);
    if (opened !== undefined) wanted = opened.serverCount;
    if (opened?.done === undefined) {
      waitMs = Math.min(Math.max(waitMs * 2, retryMinMs), retryMaxMs);
      if (streams.size >= wanted) waitMs = 0; // there is nothing to retry
      continue;
    }
    waitMs = 0;
    logger.info("connected to a server", { server: opened.serverId, servers: wanted });
    const done = opened.done.then(() => {
      streams.delete(opened.serverId);
      options.onStreams?.(streams.size);
      if (!leaving.aborted) logger.warn("a server has gone away", { server: opened.serverId });
    });
    streams.set(opened.serverId, done);
    options.onStreams?.(streams.size);
    if (drain.aborted) for (const end of [...ends.drained]) end();
  }
  await Promise.all(streams.values());
}

/** Ends early when the signal aborts. */
function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return clock.sleep(ms, signal).catch(() => undefined);
}

interface OpenStream {
  readonly serverId: string;
  readonly serverCount: number;
  /** Undefined: the agent has a stream to this server already. */
  readonly done: Promise<void> | undefined;
}

/** Of each stream: what ends it at once, and what ends it when it has drained. */
interface Ends {
  readonly now: Set<() => void>;
  readonly drained: Set<() => void>;
}

/** Undefined: there was no answer. */
async function openStream(
  options: AgentOptions,
  known: ReadonlySet<string>,
  ends: Ends,
): Promise<OpenStream | undefined> {
  const { target, credentials, channelOptions, clock, logger } = options;
  const { Client, Metadata: NewMetadata } = await import("#lib/grpc/grpc-library.ts");
  const metadata = new NewMetadata();
  try {
    fillMetadata(metadata, options);
  } catch (error) {
    logger.warn("the token cannot be read", { error });
    return undefined;
  }
  const client = new Client(target, credentials, {
    ...CHANNEL_OPTIONS,
    "grpc.keepalive_time_ms": options.keepaliveMs ?? KEEPALIVE_MS,
    ...channelOptions,
  });
  const call: ClientDuplexStream<Packet, ReadPacket> = client.makeBidiStreamRequest(
    AGENT_PATH,
    packetMethod.requestSerialize,
    packetMethod.responseDeserialize,
    metadata,
  );
  const cancel = (): void => call.cancel();
  ends.now.add(cancel);
  ends.drained.add(cancel);
  const answered = await headersOf(call, clock);
  ends.drained.delete(cancel);
  const serverId = String(answered?.get("serverid")[0] ?? "");
  const serverCount = Math.max(1, Number(answered?.get("servercount")[0] ?? 1) || 1);
  if (answered === undefined || known.has(serverId)) {
    ends.now.delete(cancel);
    call.on("error", () => undefined);
    call.cancel();
    client.close();
    return answered === undefined ? undefined : { serverId, serverCount, done: undefined };
  }
  const stream = new PacketStream(call);
  const { ended, idle } = serveConnections(stream, clock);
  const drain = (): void => {
    ends.drained.delete(drain);
    stream.send({ type: PACKET.drain, drain: {} });
    void idle().then(() => {
      stream.end();
      const timeout = clock.schedule(END_TIMEOUT_MS, cancel);
      void ended.then(() => timeout.cancel());
    });
  };
  ends.drained.add(drain);
  const done = ended.then(() => {
    ends.now.delete(cancel);
    ends.drained.delete(drain);
    client.close();
  });
  return { serverId, serverCount, done };
}

/** Throws if the token cannot be read. */
function fillMetadata(metadata: Metadata, { id, identifiers, token }: AgentOptions): void {
  metadata.set("agentID", id);
  metadata.set("agentIdentifiers", identifiers);
  if (token !== undefined) metadata.set("Authorization", `Bearer ${token()}`);
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
