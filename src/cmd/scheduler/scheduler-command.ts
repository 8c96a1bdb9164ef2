/** `k8ts scheduler`: the scheduler alone, against any API server of version 1.36. */
import { hostname } from "node:os";
import { addProcessMetrics } from "#apiserver/metrics/process-metrics.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { runLeaderElection } from "#client/leader-election.ts";
import { HeldLease, LeaderTransport } from "#client/leader-transport.ts";
import { RequestMetrics } from "#client/request-metrics.ts";
import { Metrics } from "#lib/metrics.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { Command } from "../command.ts";
import { startComponentServer } from "../component/component-server.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { withLeaderMetric } from "../controller-manager/leader-metrics.ts";
import { parseFlags } from "../flags/parse-flags.ts";
import { type RunningSchedulerProcess, runScheduler } from "./run-scheduler.ts";
import {
  flagsWithoutEffect,
  flagValues,
  schedulerConfigOf,
  schedulerFlags,
} from "./scheduler-flags.ts";
import { type SchedulerPagesOptions, schedulerChecks, schedulerPage } from "./scheduler-pages.ts";

const FIELD_MANAGER = "kube-scheduler";

export const schedulerCommand: Command = {
  name: "scheduler",
  summary: "run the scheduler",
  run: async (args, signal) => {
    const parser = schedulerFlags();
    const parsed = parseFlags(parser, args, (flags) => schedulerConfigOf(flags, systemClock));
    if ("exitCode" in parsed) return parsed.exitCode;
    const { log, connection, scheduler, serving, election } = parsed.config;
    const { clock, random, logger } = processSurroundings(log);
    const withoutEffect = flagsWithoutEffect(parser);
    if (withoutEffect.length > 0) {
      logger.warn("flags without effect", { flags: withoutEffect.join(" ") });
    }
    const metrics = new Metrics();
    addProcessMetrics(metrics, clock.nowMs() / 1000);
    const requests = new RequestMetrics(metrics, clock).to(new URL(connection.server).host);
    using transport = new HttpsTransport(connection, FIELD_MANAGER, requests, { http2: { clock } });
    const held = new HeldLease(clock);
    const leading = new LeaderTransport(transport, held);
    const client = new Client({ transport: leading, clock, random, fieldManager: FIELD_MANAGER });
    let running: RunningSchedulerProcess | undefined;
    if (serving.port !== 0) {
      const flags = flagValues(parser);
      const pages: SchedulerPagesOptions = {
        ...{ running: () => running, startMs: clock.nowMs(), nowMs: () => clock.nowMs(), flags },
      };
      const page = (path: string): string | undefined => schedulerPage(path, pages);
      const checks = schedulerChecks(pages, election !== undefined, signal);
      const around = { metrics, client, clock, random, logger, checks, page };
      await startComponentServer({ ...serving, ...around }, signal);
    }
    const lead = async (term: AbortSignal): Promise<void> => {
      const parts = { client, clock, random, logger, metrics, hostname: hostname() };
      const started = runScheduler({ ...parts, config: scheduler }, term);
      running = started;
      await started.done;
      running = undefined;
    };
    if (election === undefined) await lead(signal);
    else {
      const identity = `${hostname()}_${random.uuid()}`;
      const measured = withLeaderMetric(metrics, election.name, lead);
      await runLeaderElection(
        { client, clock, random, logger, identity, held, ...election },
        measured,
        signal,
      );
    }
    return 0;
  },
};
