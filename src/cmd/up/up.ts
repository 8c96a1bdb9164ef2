/**
 * `k8ts up`: a cluster in one process. API server and controllers talk by direct calls; nodes and
 * the scheduler are not there yet, so for now it wants to hear `--no-node`. Flags that it does not
 * know itself go to the API server.
 */
import { chmodSync, copyFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { Command as Parser } from "commander";
import { untilAborted } from "#lib/aborted.ts";
import { Metrics } from "#lib/metrics.ts";
import { collectWhenQuiet, ownHeap } from "#lib/quiet-collector.ts";
import { edgeThread } from "../apiserver/edge-thread.ts";
import { type ApiServerFlags, parseFlags } from "../apiserver/flags/flags.ts";
import { runApiServer } from "../apiserver/run.ts";
import type { Surroundings } from "../apiserver/server-options.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { parseArguments, refuseFlags } from "../flags/parse-flags.ts";
import { runClusterControllers } from "./cluster-controllers.ts";
import { defaultDataDir } from "./default-data-dir.ts";
import { removePidFile, writePidFile } from "./pid-file.ts";

/** Requests that are being answered get this long when the cluster is told to end. */
const GRACE_MS = 1_000;

export const upCommand: Command = {
  name: "up",
  summary: "run a cluster",
  run: async (args, signal) => {
    const read = readFlags(args);
    if (typeof read === "number") return read;
    const { server: flags } = read;
    const { clock, random, logger } = processSurroundings(flags);
    const surroundings = {
      clock,
      random,
      logger,
      hostname: hostname(),
      edge: edgeThread(),
      components: { "controller-manager": async () => ({ well: true, message: "ok" }) },
      metrics: new Metrics(),
    } satisfies Surroundings;
    const server = await runApiServer(flags, surroundings, signal);
    try {
      // Controllers may do nothing before their roles are there.
      await Promise.race([server.bootstrapped, untilAborted(signal)]);
      if (signal.aborted) return 0;
      const controllers = runClusterControllers(server, { ...surroundings, ...read }, signal);
      announce(flags.dataDir, server.port);
      collectWhenQuiet(clock, ownHeap(), signal);
      await controllers;
      return 0;
    } finally {
      await server.close(GRACE_MS);
      removePidFile(flags.dataDir);
    }
  },
};

interface UpFlags {
  readonly server: ApiServerFlags;
  /** Offer directories of the nodes as the default storage. */
  readonly localStorage: boolean;
}

/** Names of nodes mean nothing to a resolver on the machine of a small cluster. */
const OWN_FLAGS = ["--kubelet-preferred-address-types", "InternalIP,ExternalIP,Hostname"];

function readFlags(args: readonly string[]): UpFlags | number {
  const parser = new Parser("k8ts up")
    .allowUnknownOption()
    .allowExcessArguments()
    .description("Runs a cluster in one process. Takes the flags of `k8ts apiserver` too.")
    .option("--no-node", "run no node")
    .option("--data <dir>", "where everything is kept", defaultDataDir())
    .option("--port <port>", "HTTPS port", "6443")
    .option("--local-storage", "directories of nodes as the default StorageClass; on with nodes")
    .option("--foreground", "stay in the foreground, as it does anyway")
    .option("--no-install", "install no packages");
  try {
    parseArguments(parser, args);
    const { node, data, port, localStorage } = parser.opts<{
      node: boolean;
      data: string;
      port: string;
      localStorage?: boolean;
    }>();
    if (node) {
      process.stderr.write(
        "k8ts up: nodes and the scheduler are missing: --no-node runs API server and controllers\n",
      );
      return 1;
    }
    const server = parseFlags([
      ...OWN_FLAGS,
      "--data-dir",
      data,
      "--secure-port",
      port,
      ...parser.args,
    ]);
    return { server, localStorage: localStorage ?? node };
  } catch (error) {
    return refuseFlags(error);
  }
}

function announce(dataDir: string, port: number): void {
  const kubeconfig = join(dataDir, "kubeconfig");
  copyFileSync(join(dataDir, "admin.kubeconfig"), kubeconfig);
  chmodSync(kubeconfig, 0o600);
  writePidFile(dataDir);
  process.stdout.write(
    `ready in ${Math.round(process.uptime() * 1000)} ms: https://127.0.0.1:${port}\n` +
      `  export KUBECONFIG=${kubeconfig}\n`,
  );
}
