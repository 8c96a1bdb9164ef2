/**
 * Lets the pods of this machine's node reach an API server that listens on loopback only: a listener
 * on the address that the `kubernetes` Service leads to, which forwards connections from pods and
 * from the machine itself and closes all others.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import { onAbort, untilAborted } from "#lib/async/aborted.ts";
import { isLoopback } from "#lib/loopback.ts";
import { allowedSources } from "../allowed-sources.ts";
import type { ClusterContext, RunComponent } from "../component.ts";
import { podRangesOf } from "../pod-ranges.ts";

const CONNECTIONS_MAX = 5_000;

export const runApiAccess: RunComponent = (cluster, signal) => {
  const listening = listen(cluster, signal);
  return {
    ready: listening.then(() => undefined),
    done: listening.then(({ closed }) => closed),
  };
};

async function listen(
  { server, flags, nodeSubnets }: ClusterContext,
  signal: AbortSignal,
): Promise<{ readonly closed: Promise<void> }> {
  const { port, advertiseAddress } = server();
  const { bindAddress, serviceClusterIpRange } = flags.server;
  const podRanges = podRangesOf(serviceClusterIpRange, flags.simulate);
  const isAllowed = allowedSources([...podRanges, ...nodeSubnets]);
  const open = new Set<Socket>();
  // A machine without any network: pods have no way to it.
  if (isLoopback(advertiseAddress)) return { closed: untilAborted(signal) };
  const listener = createServer({ pauseOnConnect: true }, (client) => {
    if (!isAllowed(client.remoteAddress ?? "")) {
      client.destroy();
      return;
    }
    join(client, connect({ host: bindAddress, port }), open);
  });
  listener.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(port, advertiseAddress, resolve);
  });
  return { closed: closedBy(listener, open, signal) };
}

function join(client: Socket, backend: Socket, open: Set<Socket>): void {
  for (const [from, to] of [
    [client, backend],
    [backend, client],
  ] as const) {
    open.add(from);
    from.setNoDelay(true);
    from.on("error", () => from.destroy());
    from.on("close", () => {
      open.delete(from);
      to.destroySoon();
    });
    from.pipe(to);
  }
}

function closedBy(listener: Server, open: Set<Socket>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    onAbort(signal, () => {
      listener.close(() => resolve());
      for (const socket of open) socket.destroy();
    });
  });
}
