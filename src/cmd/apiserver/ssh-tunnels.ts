/**
 * The way to the nodes through SSH (`--ssh-user`, `--ssh-keyfile`): a tunnel to the SSH server on port 22
 * of every Node, by its external address or else its internal one. The key is made if it is missing and
 * published every five minutes; /healthz and /readyz have upstream's `SSH Tunnel Check`.
 */
import { readFileSync } from "node:fs";
import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import type { HealthCheck } from "#apiserver/health/health-paths.ts";
import type { ConnectStream } from "#apiserver/proxy/connect-stream.ts";
import type { Handler } from "#apiserver/request/handler.ts";
import { Client } from "#client/client.ts";
import { Informer } from "#client/informer.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { checkKubelet } from "#tunnel/ssh/check-kubelet.ts";
import { openSshConnection } from "#tunnel/ssh/ssh-connection.ts";
import { ensureSshKey, publishSshKey } from "#tunnel/ssh/ssh-key.ts";
import { SshTunnels, type TunnelTarget } from "#tunnel/ssh/ssh-tunnels.ts";
import { inProcessTransport } from "../in-process/in-process-transport.ts";
import type { ApiServerFlags } from "./flags/flags.ts";

export interface NodeTunnels {
  readonly connect: ConnectStream;
  readonly checks: readonly HealthCheck[];
  /** Follows the Nodes until the signal aborts. */
  run(handle: Handler, signal: AbortSignal): Promise<void>;
}

interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const USER_LENGTH_MAX = 32;
const KUBELET_PORT = 10_250;
const PUBLISH_EVERY_MS = 5 * 60_000;
const NODES_LAG_SECONDS_MAX = 600;
/** Three times as long as the key is published: one failure is no reason to be unhealthy. */
const KEY_LAG_SECONDS_MAX = 900;
const SERVER = { name: "system:apiserver", groups: ["system:masters"] };

/** Undefined without the flags. */
export async function openNodeTunnels(
  { sshUser, sshKeyfile: keyFile }: Pick<ApiServerFlags, "sshUser" | "sshKeyfile">,
  { clock, random, logger, metrics }: Surroundings,
): Promise<NodeTunnels | undefined> {
  if (sshUser === undefined || keyFile === undefined) return undefined;
  if (sshUser.length > USER_LENGTH_MAX) {
    logger.warn("SSH User is too long, truncating to 32 chars", { user: sshUser });
  }
  const user = sshUser.slice(0, USER_LENGTH_MAX);
  await ensureSshKey(keyFile);
  logger.info("nodes have to accept the key of SSH tunnels", {
    ...{ user, authorizedKey: publishSshKey(keyFile) },
  });
  const tunnels = new SshTunnels({
    ...{ user, clock, random, logger, open: openSshConnection, check: checkKubelet },
    privateKey: () => readFileSync(keyFile, "utf8"),
    attempted: countAttempts(metrics),
  });
  const age = { nodesMs: clock.elapsedMs(), keyMs: clock.elapsedMs() };
  const lagOf = (ms: number): number => Math.floor((clock.elapsedMs() - ms) / 1000);
  let isSynced = (): boolean => false;
  const check = (): string | undefined => {
    if (isSynced()) age.nodesMs = clock.elapsedMs();
    const [nodes, key] = [lagOf(age.nodesMs), lagOf(age.keyMs)];
    if (nodes > NODES_LAG_SECONDS_MAX) return `tunnel sync is taking too long: ${nodes}`;
    if (key > KEY_LAG_SECONDS_MAX) return `SSHKey sync is taking too long: ${key}`;
    return undefined;
  };
  const publish = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await clock.sleep(PUBLISH_EVERY_MS, signal).catch(() => undefined);
      try {
        publishSshKey(keyFile);
        age.keyMs = clock.elapsedMs();
      } catch (error) {
        logger.warn("Failed to install ssh key", { error: messageOf(error) });
      }
    }
  };
  return {
    connect: (host, port) => tunnels.dial(host, port),
    checks: [{ name: "SSH Tunnel Check", check }],
    run: async (handle, signal) => {
      await using _tunnels = tunnels;
      const transport = inProcessTransport(handle, SERVER, "kube-apiserver");
      const client = new Client({ transport, clock, random, fieldManager: "kube-apiserver" });
      const nodes = new Informer({ client, kind: nodeKind, clock, random, logger });
      isSynced = () => nodes.isSynced;
      const update = (): void => {
        if (nodes.isSynced) tunnels.update([...nodes.cache.list()].flatMap(tunnelTarget));
      };
      // Heartbeats change nothing here.
      nodes.on(({ old, next }) => {
        if (targetText(old) !== targetText(next)) update();
      }, signal);
      void nodes.synced.then(update);
      await Promise.all([nodes.run(signal), publish(signal)]);
    },
  };
}

/** None for a Node without an address. */
export function tunnelTarget({ status }: Node): readonly TunnelTarget[] {
  const addresses = status?.addresses ?? [];
  const first = (...types: readonly string[]): string | undefined =>
    types
      .flatMap((type) => addresses.filter((one) => one.type === type))
      .map(({ address }) => address)[0];
  const host = first("ExternalIP", "InternalIP");
  if (host === undefined) return [];
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  return [
    {
      host,
      addresses: addresses.map(({ address }) => address),
      kubelet: { host: first("InternalIP") ?? host, port: port > 0 ? port : KUBELET_PORT },
    },
  ];
}

function targetText(node: Node | undefined): string {
  return node === undefined ? "" : JSON.stringify(tunnelTarget(node));
}

function countAttempts(metrics: Metrics): (ok: boolean) => void {
  const opened = metrics.counter({
    name: "ssh_tunnel_open_count",
    help: "[ALPHA] Counter of ssh tunnel total open attempts",
  })();
  const failed = metrics.counter({
    name: "ssh_tunnel_open_fail_count",
    help: "[ALPHA] Counter of ssh tunnel failed open attempts",
  })();
  return (ok) => {
    opened.add(1);
    if (!ok) failed.add(1);
  };
}
