/**
 * The dashboard as a component of `k8ts up`: users log in with a bearer token and act with its rights. It
 * listens on loopback as HTTP, or, where the API server listens on other addresses, there as HTTPS with a
 * certificate of the cluster's authority.
 *
 * Its URL is kept in the data directory, and the port is taken again at the next start if it is free.
 */
import { hostname } from "node:os";
import { join } from "node:path";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { type DashboardOptions, startDashboardServer } from "#dashboard/dashboard-server.ts";
import { Sessions } from "#dashboard/login/sessions.ts";
import { TokenLogin } from "#dashboard/login/token-login.ts";
import { untilAborted } from "#lib/async/aborted.ts";
import { messageOf } from "#lib/caught.ts";
import { isLoopback } from "#lib/loopback.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { localUrl } from "#pki/local-url.ts";
import { builtWebFiles, newSecret } from "../../dashboard/dashboard-parts.ts";
import type { ClusterContext, RunComponent } from "../component.ts";
import { dashboardUrl, keepDashboardUrl } from "../dashboard-url.ts";

export const runDashboard: RunComponent = (cluster, signal) => {
  const running = start(cluster, signal);
  return {
    ready: running.then(() => undefined),
    done: running.then(async (end) => {
      await untilAborted(signal);
      await end();
    }),
  };
};

/** Answers how to end it. A dashboard that cannot listen is no reason to end the cluster. */
async function start(cluster: ClusterContext, signal: AbortSignal): Promise<() => Promise<void>> {
  const { clock, random, logger, flags } = cluster;
  const { dataDir, bindAddress } = flags.server;
  const sessions = new Sessions({ clock, newSecret });
  const { server, ca } = connectionFromFile(join(dataDir, "admin.kubeconfig"));
  const login = new TokenLogin({ server, ...(ca === undefined ? {} : { ca }) });
  const tls = isLoopback(bindAddress) ? undefined : tlsOf(cluster);
  const options = {
    ...{ clock, random, logger, login, sessions, files: builtWebFiles() },
    ...(tls === undefined ? {} : { tls }),
  };
  try {
    const dashboard = await listen(options, flags.dashboardPort, dataDir, signal);
    const { port, origin } = dashboard;
    keepDashboardUrl(dataDir, tls === undefined ? `${origin}/` : `${localUrl(bindAddress, port)}/`);
    return async () => {
      sessions[Symbol.dispose]();
      await dashboard[Symbol.asyncDispose]();
    };
  } catch (error) {
    keepDashboardUrl(dataDir, undefined);
    logger.warn("the dashboard cannot listen", { error: messageOf(error) });
    return async () => undefined;
  }
}

async function listen(
  options: Omit<DashboardOptions, "port">,
  wanted: number,
  dataDir: string,
  signal: AbortSignal,
): ReturnType<typeof startDashboardServer> {
  if (wanted !== 0) return await startDashboardServer({ ...options, port: wanted }, signal);
  const port = Number(new URL(dashboardUrl(dataDir) ?? "http://unused").port);
  try {
    return await startDashboardServer({ ...options, port }, signal);
  } catch (error) {
    if (port === 0) throw error;
    return await startDashboardServer({ ...options, port: 0 }, signal); // another program has it now
  }
}

function tlsOf({ flags, clock, server }: ClusterContext): NonNullable<DashboardOptions["tls"]> {
  const { dataDir, bindAddress } = flags.server;
  const nowMs = clock.nowMs();
  const authority = openAuthority(join(dataDir, "pki", "ca"), "kubernetes", nowMs);
  const names = [hostname(), "localhost", "127.0.0.1", server().advertiseAddress];
  const { certificatePem: cert, keyPem: key } = issueLeaf(
    authority,
    { subject: { commonName: "k8ts-dashboard" }, purpose: "server auth", altNames: names },
    nowMs,
  );
  return { host: bindAddress, certificate: { cert, key } };
}
