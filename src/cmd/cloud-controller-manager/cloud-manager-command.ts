/** `k8ts cloud-controller-manager`: the cloud's controllers alone, against any API server of version 1.36. */
import { hostname } from "node:os";
import { addFeatureMetrics } from "#apiserver/metrics/feature-metrics.ts";
import { addProcessMetrics } from "#apiserver/metrics/process-metrics.ts";
import { runLeaderElection } from "#client/leader-election.ts";
import { HeldLease } from "#client/leader-transport.ts";
import { RequestMetrics } from "#client/request-metrics.ts";
import { cloudControllers } from "#cloud/cloud-controllers.ts";
import { loadProvider } from "#cloud/load-provider.ts";
import type { CreateProvider } from "#cloud/provider.ts";
import { messageOf } from "#lib/caught.ts";
import { Metrics } from "#lib/metrics.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { Command } from "../command.ts";
import { startComponentServer } from "../component/component-server.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { AccountClients } from "../controller-manager/account-clients.ts";
import { withLeaderMetric } from "../controller-manager/leader-metrics.ts";
import { leaderTransports } from "../controller-manager/leader-transports.ts";
import { rateLimitFor } from "../controller-manager/pace-flags.ts";
import { runControllers } from "../controller-manager/run-controllers.ts";
import { reportWithoutEffect } from "../flags/accepted-flags.ts";
import { parseFlags } from "../flags/parse-flags.ts";
import {
  type CloudManagerConfig,
  cloudManagerConfigOf,
  cloudManagerFlags,
} from "./cloud-manager-flags.ts";

const FIELD_MANAGER = "cloud-controller-manager";

export const cloudControllerManagerCommand: Command = {
  name: "cloud-controller-manager",
  summary: "run the controllers of a cloud provider",
  flags: () => cloudManagerFlags().options,
  run: async (args, signal) => {
    const parsed = parseFlags(cloudManagerFlags(), args, (flags) =>
      cloudManagerConfigOf(flags, systemClock),
    );
    if ("exitCode" in parsed) return parsed.exitCode;
    let create: CreateProvider;
    try {
      create = await loadProvider(parsed.config.provider, process.cwd());
    } catch (error) {
      process.stderr.write(`Error: ${messageOf(error)}\n`);
      return 1;
    }
    await run(parsed.config, create, signal);
    return 0;
  },
};

async function run(
  config: CloudManagerConfig,
  create: CreateProvider,
  signal: AbortSignal,
): Promise<void> {
  const { connection, serving, useAccounts, rateLimit, election, options } = config;
  const { clock, random, logger } = processSurroundings(config.log);
  reportWithoutEffect(config.withoutEffect, logger);
  const metrics = new Metrics();
  addProcessMetrics(metrics, clock.nowMs() / 1000);
  addFeatureMetrics(metrics);
  const requests = new RequestMetrics(metrics, clock);
  const held = new HeldLease(clock);
  using clients = new AccountClients({
    ...{ connection, clock, random, useAccounts, fieldManager: FIELD_MANAGER },
    open: leaderTransports(FIELD_MANAGER, requests, clock, held),
    limitFor: (name) => rateLimitFor(name, rateLimit),
  });
  const client = clients.create("shared");
  const provider = await create({ config: config.providerConfig, clock, logger, client });
  try {
    const { controllers, missing } = cloudControllers(provider, options);
    for (const { name, why } of missing) {
      if (config.isEnabled(name))
        logger.warn("a controller does not run", { controller: name, why });
    }
    const wanted = controllers.filter(({ name }) => config.isEnabled(name));
    const around = { metrics, client, clock, random, logger };
    if (serving.port !== 0) await startComponentServer({ ...serving, ...around }, signal);
    const clientFor = (name: string) => clients.clientFor(name);
    const lead = (leading: AbortSignal): Promise<void> =>
      runControllers(
        {
          ...{ controllers: wanted, collectGarbage: false, client, clientFor },
          ...{ clock, random, logger, metrics },
        },
        leading,
      );
    if (election === undefined) return await lead(signal);
    const voter = clients.create("leader-election");
    const identity = `${hostname()}_${random.uuid()}`;
    await runLeaderElection(
      { client: voter, clock, random, logger, identity, held, ...election },
      withLeaderMetric(metrics, election.name, lead),
      signal,
    );
  } finally {
    await provider.close?.();
  }
}
