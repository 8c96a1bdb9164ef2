/** `k8ts up`: a cluster in one process. Its components (components.ts) talk by direct calls. */
import { mkdtempSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { RequestMetrics } from "#client/request-metrics.ts";
import { removeTree } from "#host/files.ts";
import { unmountBelow } from "#host/mounts.ts";
import { TurnLimit } from "#lib/async/turn-limit.ts";
import { collectWhenIdle, ownHeap } from "#lib/idle-gc.ts";
import { Metrics } from "#lib/metrics.ts";
import { releaseProgramPages } from "#lib/native/release-program-pages.ts";
import { networkMarks } from "#network/network-marks.ts";
import { localUrl } from "#pki/local-url.ts";
import { makeDataDir } from "../apiserver/data-dir.ts";
import type { RunningApiServer } from "../apiserver/run.ts";
import { useHttpThread } from "../apiserver/use-http-thread.ts";
import type { Command } from "../command.ts";
import {
  type ProcessSurroundings,
  processSurroundings,
} from "../component/process-surroundings.ts";
import { refuseFlags } from "../flags/parse-flags.ts";
import { inProcessTransport } from "../in-process/in-process-transport.ts";
import type { Deciders } from "../why/decisions.ts";
import { serveDecisions } from "../why/why-socket.ts";
import { type Audience, announce } from "./announce.ts";
import { boundedLogWriter } from "./background/log-file.ts";
import { progressOfProcess } from "./background/progress.ts";
import { startInBackground } from "./background/start-in-background.ts";
import { APISERVER } from "./components/apiserver-component.ts";
import { componentsOf } from "./components.ts";
import { type ConfiguredStart, configuredStart, rememberSettings } from "./config/config-file.ts";
import { explainStartFailure } from "./explain-start-failure.ts";
import { nodeRefusal } from "./node-requirements.ts";
import { subnetsOf } from "./nodes/node-list.ts";
import { openNodes } from "./nodes/open-nodes.ts";
import { ensureOfflineLink, OFFLINE_ADDRESS, removeOfflineLink } from "./offline-link.ts";
import { removePidFile, runningProcess, writePidFile } from "./pid-file.ts";
import { podRangesOf } from "./pod-ranges.ts";
import { runComponents } from "./run-components.ts";
import { installService } from "./service/install-service.ts";
import { parseUpFlags, type UpFlags, upOptions } from "./up-flags.ts";

/** What metrics call the API server that clients in its own process call. */
const HOST = "in-process";
/**
 * Calls of components that begin, and answers that they get, in one turn of the event loop: with what
 * follows from them some milliseconds of work. With more, requests from outside wait longer while a
 * cluster is busy.
 */
const CALLS_PER_TURN = 5;
const ANSWERS_PER_TURN = 8;

export const upCommand: Command = {
  name: "up",
  summary: "run a cluster",
  flags: upOptions,
  run: async (args, signal) => {
    const options = upOptions();
    let start: ConfiguredStart;
    let flags: UpFlags;
    try {
      start = configuredStart(args, options);
      flags = parseUpFlags(start.args);
    } catch (error) {
      return refuseFlags(error);
    }
    const remember = (): void => rememberSettings(start, options);
    if (flags.installService) {
      makeDataDir(start.dataDir);
      remember();
      return installService(start.dataDir);
    }
    if (flags.ephemeral) return await runEphemeral(start, signal);
    if (!flags.foreground) return await startInBackground(start, signal);
    await runInForeground(flags, remember, signal);
    return 0;
  },
};

/** In a directory of its own, which is gone afterwards. */
async function runEphemeral(start: ConfiguredStart, signal: AbortSignal): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), "k8ts-"));
  const hasPort = ["port", "secure-port"].some((name) => Object.hasOwn(start.settings, name));
  const own = [`--data=${dataDir}`, ...(hasPort ? [] : ["--port=0"])];
  try {
    await runInForeground(parseUpFlags([...start.args, ...own]), () => undefined, signal);
    return 0;
  } finally {
    await unmountBelow(dataDir);
    await removeTree(dataDir);
  }
}

async function runInForeground(
  flags: UpFlags,
  remember: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { server } = flags;
  const report = progressOfProcess(process.env);
  const toStderr = (line: string): void => void process.stderr.write(line);
  const write = report === undefined ? toStderr : boundedLogWriter(server.dataDir, toStderr);
  const note = (text: string): void => {
    if (report === undefined) toStderr(`k8ts: ${text}\n`);
    else report({ type: "note", text });
  };
  const refusal = flags.node ? await nodeRefusal(flags.install, note, signal) : undefined;
  const withNode = nodesOf(flags, refusal);
  if (refusal !== undefined) {
    const nodes =
      withNode.simulate === 1 ? "a simulated node" : `${withNode.simulate} simulated nodes`;
    note(`the cluster has ${nodes}, pods run without containers: ${refusal}`);
  }
  const surroundings = processSurroundings(server, write);
  refuseSecondCluster(server.dataDir);
  const marks = networkMarks(server.dataDir);
  const isOffline = withNode.node && (await ensureOfflineLink(marks, surroundings.clock, signal));
  if (isOffline) note(`the machine has no network: pods find it at ${OFFLINE_ADDRESS}`);
  try {
    await runCluster(withNode, surroundings, { report, remember }, signal);
  } finally {
    if (isOffline) await removeOfflineLink(marks);
  }
}

/** Lives until the signal aborts or a component fails. */
async function runCluster(
  flags: UpFlags,
  surroundings: ProcessSurroundings,
  { report, remember }: Omit<Audience, "clock">,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = surroundings;
  const { dataDir } = flags.server;
  makeDataDir(dataDir);
  const nodes = flags.node ? await openNodes(flags) : undefined;
  const podRanges = podRangesOf(flags.server.serviceClusterIpRange, flags.simulate);
  const subnets = nodes === undefined ? [] : subnetsOf(nodes, podRanges);
  const nodeSubnets = subnets.map(({ cidr }) => cidr);
  const deciders: Deciders = { scheduler: undefined, controllers: undefined };
  const simulated = { usageOf: undefined };
  const own = { hostname: hostname(), metrics: new Metrics(), nodeSubnets, deciders, simulated };
  const shared = { ...surroundings, ...own };
  const begin = new RequestMetrics(shared.metrics, clock).to(HOST);
  const turns = {
    begins: new TurnLimit(CALLS_PER_TURN),
    answers: new TurnLimit(ANSWERS_PER_TURN),
  };
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
  const components = componentsOf(
    { ...shared, logger, httpThread: useHttpThread() },
    onRunning,
    flags,
    nodes,
  );
  const failed = new AbortController();
  const cluster = runComponents(
    components,
    {
      ...{ flags, ...shared, server },
      transportAs: (user, agent) =>
        inProcessTransport(server().api.handle, user, agent, begin, turns),
    },
    AbortSignal.any([signal, failed.signal]),
    { onReady: (name, tookMs) => report?.({ type: "component", name, tookMs }) },
  );
  try {
    await Promise.race([cluster.ready, cluster.done]);
    if (!signal.aborted) {
      await serveDecisions(dataDir, deciders, signal).catch((error: unknown) =>
        shared.logger.warn("`k8ts why` cannot ask this cluster", { error }),
      );
      const url = localUrl(flags.server.bindAddress, server().port);
      await announce(flags, url, { clock, report, remember }, signal);
      collectWhenIdle(clock, ownHeap(), signal, { onRest: releaseProgramPages });
    }
  } catch (error) {
    failed.abort(); // what runs already ends, too
    throw explainStartFailure(error, dataDir);
  } finally {
    await cluster.done.catch(() => undefined);
    removePidFile(dataDir);
  }
  await cluster.done;
}

/** Where there can be no real node, a simulated one takes its place. */
function nodesOf(flags: UpFlags, refusal: string | undefined): UpFlags {
  if (refusal === undefined) return flags;
  return { ...flags, node: false, machineNode: false, simulate: Math.max(1, flags.simulate) };
}

function refuseSecondCluster(dataDir: string): void {
  const other = runningProcess(dataDir);
  if (other === undefined) return;
  throw new Error(
    `a cluster runs on ${dataDir} already (process ${other.pid}): \`k8ts status\` shows it, \`k8ts down\` ends it`,
  );
}
