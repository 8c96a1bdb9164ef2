/**
 * The middle of a tunnel: agents have connected to it, and it makes connections through them.
 *
 * Promises:
 * 1. A dial ends with a connection or a reason: of the agent, that there is no agent, or that the agent
 *    went away.
 * 2. When an agent's stream ends, so do its connections.
 * 3. Agents that drain get new connections only if all others drain too.
 */
import type { Random } from "#lib/random.ts";
import type { AgentIdentifiers } from "./agent-identifiers.ts";
import { closeRequestPacket, dataPacket, PACKET, type ReadPacket } from "./packet.ts";
import type { PacketStream, Pausable } from "./packet-stream.ts";

export const STRATEGIES = ["default", "destHost", "defaultRoute"] as const;
export type Strategy = (typeof STRATEGIES)[number];

const PENDING_MAX = 10_000;

/** The client that asked for a connection. Either `connected` or `failed` is called, once; after `connected`, `closed` is. */
export interface Frontend {
  connected(connection: TunnelConnection): void;
  failed(why: string): void;
  /** Calls `release` of the hold when it can take more, if it cannot now. */
  data(bytes: Uint8Array, hold: () => () => void): void;
  closed(why: string): void;
}

export interface TunnelConnection {
  readonly id: number;
  /** The source is paused while the agent cannot take more. */
  write(bytes: Uint8Array, source: Pausable): void;
  close(): void;
}

export interface AgentInfo {
  readonly id: string;
  readonly identifiers: AgentIdentifiers;
  /** It asked for no new connections. */
  readonly isDraining: boolean;
}

interface Agent extends Omit<AgentInfo, "isDraining"> {
  readonly stream: PacketStream;
  readonly established: Map<number, Frontend>;
  readonly pending: Map<bigint, Frontend>;
  isDraining: boolean;
}

/** Why a dial failed, as metrics name it. */
export type DialFailure = "no_agent" | "error_response" | "backend_close" | "frontend_close";

export class TunnelServer {
  readonly strategies: readonly Strategy[];
  readonly #random: Random;
  readonly #agents = new Set<Agent>();
  readonly #failures = new Map<DialFailure, number>();
  #dials = 0n;

  constructor(random: Random, strategies: readonly Strategy[] = ["default"]) {
    this.#random = random;
    this.strategies = strategies;
    this.#dials = BigInt(random.integer(2 ** 31)) << 31n;
  }

  get agents(): readonly AgentInfo[] {
    return [...this.#agents];
  }

  get pendingDials(): number {
    return sum([...this.#agents].map(({ pending }) => pending.size));
  }

  get establishedConnections(): number {
    return sum([...this.#agents].map(({ established }) => established.size));
  }

  get dialFailures(): ReadonlyMap<DialFailure, number> {
    return this.#failures;
  }

  /** Resolves when its stream has ended. */
  serveAgent(info: Omit<AgentInfo, "isDraining">, stream: PacketStream): Promise<void> {
    const agent: Agent = {
      ...{ ...info, stream, isDraining: false },
      ...{ established: new Map(), pending: new Map() },
    };
    this.#agents.add(agent);
    return new Promise((resolve) => {
      stream.start(
        (packet) => receive(agent, packet, (reason) => this.#count(reason)),
        () => {
          this.#agents.delete(agent);
          for (const frontend of agent.pending.values()) {
            this.#count("backend_close");
            frontend.failed("the agent has gone away");
          }
          for (const one of agent.established.values()) one.closed("the agent has gone away");
          agent.pending.clear();
          agent.established.clear();
          resolve();
        },
      );
    });
  }

  /** `address`: host:port. Answers what cancels the dial. */
  dial(address: string, frontend: Frontend): () => void {
    const agent = this.#choose(address);
    if (agent === undefined) {
      this.#count("no_agent");
      frontend.failed("No agent available");
      return () => undefined;
    }
    if (agent.pending.size >= PENDING_MAX) {
      frontend.failed("too many connections are being made");
      return () => undefined;
    }
    const random = ++this.#dials;
    agent.pending.set(random, frontend);
    agent.stream.send({
      type: PACKET.dialRequest,
      dialRequest: { protocol: "tcp", address, random },
    });
    return () => {
      if (!agent.pending.delete(random)) return;
      this.#count("frontend_close");
      agent.stream.send({ type: PACKET.closeDial, closeDial: { random } });
    };
  }

  #count(reason: DialFailure): void {
    this.#failures.set(reason, (this.#failures.get(reason) ?? 0) + 1);
  }

  #choose(address: string): Agent | undefined {
    const host = address.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
    for (const strategy of this.strategies) {
      const fit = [...this.#agents].filter(({ identifiers }) => {
        if (strategy === "destHost") return identifiers.hosts.has(host);
        return strategy === "default" || identifiers.defaultRoute;
      });
      const ready = fit.filter(({ isDraining }) => !isDraining);
      const chosen = ready.length > 0 ? ready : fit;
      if (chosen.length > 0) return chosen[this.#random.integer(chosen.length)];
    }
    return undefined;
  }
}

type CountFailure = (reason: DialFailure) => void;

function receive(agent: Agent, packet: ReadPacket, countFailure: CountFailure): void {
  switch (packet.type) {
    case PACKET.dialResponse:
      dialled(agent, packet, countFailure);
      return;
    case PACKET.closeDial: {
      const { random = 0n } = packet.closeDial ?? {};
      const frontend = agent.pending.get(random);
      if (agent.pending.delete(random)) countFailure("backend_close");
      frontend?.failed("the agent has given up");
      return;
    }
    case PACKET.data: {
      const { connectId = 0, data = new Uint8Array() } = packet.data ?? {};
      const frontend = agent.established.get(connectId);
      if (frontend === undefined) agent.stream.send(closeRequestPacket(connectId));
      else frontend.data(data, () => agent.stream.hold());
      return;
    }
    case PACKET.closeResponse: {
      const { connectId = 0, error = "" } = packet.closeResponse ?? {};
      const frontend = agent.established.get(connectId);
      agent.established.delete(connectId);
      frontend?.closed(error);
      return;
    }
    case PACKET.drain:
      agent.isDraining = true;
      return;
    default:
      return; // newer than this server
  }
}

function dialled(agent: Agent, { dialResponse }: ReadPacket, countFailure: CountFailure): void {
  const { random = 0n, connectId = 0, error = "" } = dialResponse ?? {};
  const frontend = agent.pending.get(random);
  agent.pending.delete(random);
  if (frontend === undefined) {
    // The client has gone.
    if (connectId !== 0) agent.stream.send(closeRequestPacket(connectId));
    return;
  }
  if (error !== "") {
    countFailure("error_response");
    frontend.failed(error);
    return;
  }
  agent.established.set(connectId, frontend);
  frontend.connected({
    id: connectId,
    write: (bytes, source) => agent.stream.send(dataPacket(connectId, bytes), source),
    close: () => {
      if (agent.established.delete(connectId)) agent.stream.send(closeRequestPacket(connectId));
    },
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
