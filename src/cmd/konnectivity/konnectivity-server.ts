/** `k8ts konnectivity-server`: agents connect to it, and API servers reach nodes through them. */

import { tokenReviewKind } from "#api/kinds/authentication/v1/reviews.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { untilAborted } from "#lib/async/aborted.ts";
import { Metrics } from "#lib/metrics.ts";
import { runTunnelServer } from "#tunnel/run-server.ts";
import { addTunnelMetrics } from "#tunnel/tunnel-metrics.ts";
import { TunnelServer } from "#tunnel/tunnel-server.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { reportWithoutEffect } from "../flags/accepted-flags.ts";
import { parseFlags } from "../flags/parse-flags.ts";
import { serveStatus } from "./serve-status.ts";
import { type AgentAccount, serverConfigOf, serverFlags } from "./server-flags.ts";

const USER_AGENT = "konnectivity-server";

export const konnectivityServerCommand: Command = {
  name: "konnectivity-server",
  summary: "run the server of tunnels to nodes",
  flags: () => serverFlags().options,
  run: async (args, signal) => {
    const parsed = parseFlags(serverFlags(), args, serverConfigOf);
    if ("exitCode" in parsed) return parsed.exitCode;
    const { agents, mode, frontends, count, authentication, strategies } = parsed.config;
    const { keepaliveMs, health, admin } = parsed.config;
    const { clock, random, logger } = processSurroundings(parsed.config.log);
    reportWithoutEffect(parsed.config.withoutEffect, logger);
    const server = new TunnelServer(random, strategies);
    using transport =
      authentication === undefined
        ? undefined
        : new HttpsTransport(authentication.connection, USER_AGENT);
    const client =
      transport === undefined
        ? undefined
        : new Client({ transport, clock, random, fieldManager: USER_AGENT });
    const ports = await runTunnelServer(
      {
        ...{ server, count, agents, logger, keepaliveMs, frontends: { mode, at: frontends } },
        id: parsed.config.id ?? random.uuid(),
        ...(authentication === undefined || client === undefined
          ? {}
          : { authenticate: (token: string) => checkToken(client, authentication, token) }),
      },
      signal,
    );
    const metrics = new Metrics();
    addTunnelMetrics(metrics, server);
    const isReady = (): boolean => server.agents.length > 0;
    await serveStatus(health, { isReady, metrics }, signal);
    await serveStatus(admin, { metrics }, signal);
    logger.info("tunnels are served", { mode, ...ports });
    await untilAborted(signal);
    return 0;
  },
};

async function checkToken(
  client: Client,
  { user, audience }: AgentAccount,
  token: string,
): Promise<void> {
  const review = await client.ask(tokenReviewKind, {
    apiVersion: tokenReviewKind.apiVersion,
    kind: "TokenReview",
    metadata: {},
    spec: { token, ...(audience === "" ? {} : { audiences: [audience] }) },
    status: { user: {} },
  });
  if (!review.ok) throw new Error(`Failed to authenticate request. err:${review.status.message}`);
  const { status } = review.value;
  if (status?.authenticated !== true) {
    throw new Error("lookup failed: service account jwt not valid");
  }
  if (status.user?.username !== user) {
    throw new Error(
      `lookup failed: incoming request from "${status.user?.username}". Expected "${user}"`,
    );
  }
}
