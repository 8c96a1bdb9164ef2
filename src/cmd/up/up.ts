/** `k8ts up`: a cluster in one process. Its components (components.ts) talk by direct calls. */
import { hostname } from "node:os";
import { RequestMetrics } from "#client/request-metrics.ts";
import { Metrics } from "#lib/metrics.ts";
import { collectWhenQuiet, ownHeap } from "#lib/quiet-collector.ts";
import { localUrl } from "#pki/local-url.ts";
import { edgeThread } from "../apiserver/edge-thread.ts";
import type { RunningApiServer } from "../apiserver/run.ts";
import type { Command } from "../command.ts";
import {
  type ProcessSurroundings,
  processSurroundings,
} from "../component/process-surroundings.ts";
import { refuseFlags } from "../flags/parse-flags.ts";
import { inProcessTransport } from "../in-process/in-process-transport.ts";
import { announce } from "./announce.ts";
import { APISERVER } from "./apiserver-component.ts";
import { boundedLogWriter } from "./background/log-file.ts";
import { progressOfProcess, type ReportProgress } from "./background/progress.ts";
import { componentsOf } from "./components.ts";
import { explainStartFailure } from "./explain-start-failure.ts";
import { nodeRefusal } from "./node-requirements.ts";
import { removePidFile, runningProcess, writePidFile } from "./pid-file.ts";
import { runComponents } from "./run-components.ts";
import { parseUpFlags, type UpFlags, upOptions } from "./up-flags.ts";

/** What metrics call the API server that clients in its own process call. */
const HOST = "in-process";

export const upCommand: Command = {
  name: "up",
  summary: "run a cluster",
  flags: upOptions,
  run: async (args, signal) => {
    let flags: UpFlags;
    try {
      flags = parseUpFlags(args);
    } catch (error) {
      return refuseFlags(error);
    }
    const { server } = flags;
    const report = progressOfProcess(process.env);
    const toStderr = (line: string): void => void process.stderr.write(line);
    const write = report === undefined ? toStderr : boundedLogWriter(server.dataDir, toStderr);
    const note = (text: string): void => {
      if (report === undefined) toStderr(`k8ts: ${text}\n`);
      else report({ type: "note", text });
    };
    const refusal = flags.node ? await nodeRefusal(flags.install, note, signal) : undefined;
    if (refusal !== undefined) note(`the cluster has no node, pods stay Pending: ${refusal}`);
    const withNode = { ...flags, node: flags.node && refusal === undefined };
    await runCluster(withNode, processSurroundings(server, write), report, signal);
    return 0;
  },
};

/** Lives until the signal aborts or a component fails. */
async function runCluster(
  flags: UpFlags,
  surroundings: ProcessSurroundings,
  report: ReportProgress | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = surroundings;
  const { dataDir } = flags.server;
  refuseSecondCluster(dataDir);
  const shared = { ...surroundings, hostname: hostname(), metrics: new Metrics() };
  const begin = new RequestMetrics(shared.metrics, clock).to(HOST);
  let running: RunningApiServer | undefined;
  const server = (): RunningApiServer => {
    if (running === undefined) throw new Error("the API server is not running");
    return running;
  };
  const onRunning = (started: RunningApiServer): void => {
    running = started;
    writePidFile(dataDir);
  };
  const logger = shared.logger.child({ component: APISERVER });
  const components = componentsOf({ ...shared, logger, edge: edgeThread() }, onRunning, flags);
  const cluster = runComponents(
    components,
    {
      ...{ flags, ...shared, server },
      transportAs: (user, agent) => inProcessTransport(server().api.handle, user, agent, begin),
    },
    signal,
    { onReady: (name, tookMs) => report?.({ type: "component", name, tookMs }) },
  );
  try {
    await Promise.race([cluster.ready, cluster.done]);
    if (!signal.aborted) {
      const url = localUrl(flags.server.bindAddress, server().port);
      await announce(flags, url, { clock, report }, signal);
      collectWhenQuiet(clock, ownHeap(), signal);
    }
  } catch (error) {
    throw explainStartFailure(error, dataDir);
  } finally {
    await cluster.done.catch(() => undefined);
    removePidFile(dataDir);
  }
  await cluster.done;
}

function refuseSecondCluster(dataDir: string): void {
  const other = runningProcess(dataDir);
  if (other === undefined) return;
  throw new Error(
    `a cluster runs on ${dataDir} already (process ${other.pid}): \`k8ts status\` shows it, \`k8ts down\` ends it`,
  );
}
