/** `k8ts up`: a cluster in one process. Its components (components.ts) talk by direct calls. */
import { chmodSync, copyFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
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
import { componentsOf } from "./components.ts";
import { nodeRefusal } from "./node-requirements.ts";
import { removePidFile, writePidFile } from "./pid-file.ts";
import { runComponents } from "./run-components.ts";
import { shellQuoted } from "./shell-quoted.ts";
import { parseUpFlags, type UpFlags } from "./up-flags.ts";

/** What metrics call the API server that clients in its own process call. */
const HOST = "in-process";

export const upCommand: Command = {
  name: "up",
  summary: "run a cluster",
  run: async (args, signal) => {
    let flags: UpFlags;
    try {
      flags = parseUpFlags(args);
    } catch (error) {
      return refuseFlags(error);
    }
    const refusal = flags.node ? await nodeRefusal(flags.install, signal) : undefined;
    if (refusal !== undefined) {
      process.stderr.write(`k8ts: the cluster has no node, pods stay Pending: ${refusal}\n`);
    }
    const withNode = { ...flags, node: flags.node && refusal === undefined };
    await runCluster(withNode, processSurroundings(flags.server), signal);
    return 0;
  },
};

/** Lives until the signal aborts or a component fails. */
async function runCluster(
  flags: UpFlags,
  surroundings: ProcessSurroundings,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = surroundings;
  const { dataDir } = flags.server;
  const shared = { ...surroundings, hostname: hostname(), metrics: new Metrics() };
  const begin = new RequestMetrics(shared.metrics, clock).to(HOST);
  let running: RunningApiServer | undefined;
  const server = (): RunningApiServer => {
    if (running === undefined) throw new Error("the API server is not running");
    return running;
  };
  const onRunning = (started: RunningApiServer): void => {
    running = started;
  };
  const components = componentsOf({ ...shared, edge: edgeThread() }, onRunning, flags);
  const cluster = runComponents(
    components,
    {
      ...{ flags, ...shared, server },
      transportAs: (user, agent) => inProcessTransport(server().api.handle, user, agent, begin),
    },
    signal,
  );
  try {
    await Promise.race([cluster.ready, cluster.done]);
    if (!signal.aborted) {
      announce(dataDir, localUrl(flags.server.bindAddress, server().port));
      collectWhenQuiet(clock, ownHeap(), signal);
    }
  } finally {
    await cluster.done.finally(() => removePidFile(dataDir));
  }
}

function announce(dataDir: string, url: string): void {
  const kubeconfig = resolve(dataDir, "kubeconfig");
  copyFileSync(join(dataDir, "admin.kubeconfig"), kubeconfig);
  chmodSync(kubeconfig, 0o600);
  writePidFile(dataDir);
  process.stdout.write(
    `ready in ${Math.round(process.uptime() * 1000)} ms: ${url}\n` +
      `  export KUBECONFIG=${shellQuoted(kubeconfig)}\n`,
  );
}
