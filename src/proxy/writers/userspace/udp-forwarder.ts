/** Receives UDP packets on a free port; each client has a socket of its own to an endpoint. */
import { createSocket, type Socket } from "node:dgram";
import type { IpFamily } from "#api/meta/ip-family.ts";
import { onAbort } from "#lib/async/aborted.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Endpoint } from "../../rules/endpoint.ts";
import type { Balancer } from "./balancer.ts";

const CLIENTS_MAX = 1_000;
/** A client that was silent for this long gets another endpoint. */
const IDLE_MS = 10_000;

interface Flow {
  readonly socket: Socket;
  readonly endpoint: Endpoint;
  usedMs: number;
}

/** Answers the port. */
export async function startUdpForwarder(
  { family, balancer, clock }: { family: IpFamily; balancer: Balancer; clock: Clock },
  signal: AbortSignal,
): Promise<number> {
  const type = family === "IPv4" ? "udp4" : "udp6";
  const flows = new Map<string, Flow>();
  const server = createSocket({ type, ipv6Only: family === "IPv6" });
  const close = (key: string, { socket }: Flow): void => {
    flows.delete(key);
    socket.close();
  };
  let isSweeping = false;
  const sweep = async (): Promise<void> => {
    if (isSweeping) return;
    isSweeping = true;
    while (flows.size > 0 && !signal.aborted) {
      await clock.sleep(IDLE_MS, signal).catch(() => undefined);
      const nowMs = clock.nowMs();
      for (const [key, flow] of flows) if (nowMs - flow.usedMs >= IDLE_MS) close(key, flow);
    }
    isSweeping = false;
  };
  server.on("message", (packet, { address, port }) => {
    const key = `${address} ${port}`;
    let flow = flows.get(key);
    if (flow !== undefined && !balancer.has(flow.endpoint)) {
      close(key, flow);
      flow = undefined;
    }
    if (flow === undefined) {
      const endpoint = balancer.pick(address, clock.nowMs());
      if (endpoint === undefined || flows.size >= CLIENTS_MAX) return;
      const socket = createSocket(type);
      socket.on("message", (answer) => server.send(answer, port, address, ignoreError));
      socket.on("error", ignoreError);
      flow = { socket, endpoint, usedMs: 0 };
      flows.set(key, flow);
      void sweep();
    }
    flow.usedMs = clock.nowMs();
    flow.socket.send(packet, flow.endpoint.port, flow.endpoint.ip, ignoreError);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.bind(0, family === "IPv4" ? "0.0.0.0" : "::", () => {
      server.removeListener("error", reject);
      server.on("error", ignoreError);
      resolve();
    });
  });
  onAbort(signal, () => {
    server.close();
    for (const { socket } of flows.values()) socket.close();
    flows.clear();
  });
  return server.address().port;
}

/** Packets may be lost. */
function ignoreError(): void {}
