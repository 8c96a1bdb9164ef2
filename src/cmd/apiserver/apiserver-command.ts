/** `k8ts apiserver`: the API server alone. */
import { hostname } from "node:os";
import { untilAborted } from "#lib/async/aborted.ts";
import { collectWhenIdle, ownHeap, QUIET_SERVER_MS } from "#lib/idle-gc.ts";
import { releaseProgramPages } from "#lib/native/release-program-pages.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { FlagError, refuseFlags } from "../flags/parse-flags.ts";
import { parseFlags } from "./flags/flags.ts";
import { runApiServer } from "./run.ts";
import { useHttpThread } from "./use-http-thread.ts";

/** Grace period of requests in flight at shutdown. */
const GRACE_MS = 1_500;

export const apiserverCommand: Command = {
  name: "apiserver",
  summary: "run the API server",
  run: async (args, signal) => {
    const flags = readFlags(args);
    if (typeof flags === "number") return flags;
    const { clock, random, logger } = processSurroundings(flags);
    const startMs = clock.elapsedMs();
    // The server's life ends with `close`, which lets running requests finish first.
    const server = await runApiServer(
      flags,
      {
        clock,
        random,
        logger,
        hostname: hostname(),
        httpThread: useHttpThread(),
      },
      signal,
    );
    collectWhenIdle(clock, ownHeap({ trimNative: true }), signal, {
      quietMs: QUIET_SERVER_MS,
      onRest: releaseProgramPages,
    });
    void server.bootstrapped.then(() => {
      const tookMs = Math.round(clock.elapsedMs() - startMs);
      logger.info("the API server is ready", { port: server.port, tookMs });
    });
    await untilAborted(signal);
    await server.close(GRACE_MS);
    return 0;
  },
};

function readFlags(args: readonly string[]): ReturnType<typeof parseFlags> | number {
  try {
    const flags = parseFlags(args);
    // Where a store is must be said: a folder made wherever one happens to be is soon lost.
    const isGiven = args.some((arg) => /^--(data-dir|etcd-servers)(=|$)/.test(arg));
    if (!isGiven) throw new FlagError("--data-dir or --etcd-servers must be specified");
    return flags;
  } catch (error) {
    return refuseFlags(error);
  }
}
