/**
 * The files of `--authentication-config` and `--authorization-config`, which may change while the
 * server runs. A valid file replaces the configuration; an invalid one is logged and ignored.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { RequestSecurity } from "#apiserver/request/security.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";
import { watchFiles } from "#pki/watch-files.ts";
import type { ApiServerFlags } from "./flags/flags.ts";
import { issuersFromFile } from "./token-issuers.ts";
import { accessModesFromFile } from "./webhooks.ts";

/** What passes by itself is tried again after this. */
const RETRY_MS = 60_000;
/** New issuers are waited for so long, and asked so often. */
const REACH_MS_MAX = 60_000;
const REACH_EVERY_MS = 10_000;

export interface FollowSurroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The server's own name, for the metrics. */
  readonly identity: string;
}

/** Lives until the signal aborts. */
export function followConfigs(
  flags: ApiServerFlags,
  { replace }: Pick<RequestSecurity, "replace">,
  around: FollowSurroundings,
  signal: AbortSignal,
): void {
  const { authenticationConfig, authorizationConfig } = flags;
  if (authenticationConfig !== undefined) {
    const read = issuersFromFile(flags, authenticationConfig);
    const use = async (until: AbortSignal): Promise<void> => {
      const issuers = read();
      await reach(() => replace.issuers(issuers), around.clock, until);
    };
    follow("authentication", authenticationConfig, use, around, signal);
  }
  if (authorizationConfig !== undefined) {
    const read = accessModesFromFile(authorizationConfig, flags, around);
    follow(
      "authorization",
      authorizationConfig,
      async () => replace.authorizers(read()),
      around,
      signal,
    );
  }
}

/** The file was good, but not everything that it names could be reached. */
class NotReached extends Error {}

async function reach(attempt: () => Promise<void>, clock: Clock, signal: AbortSignal) {
  const endMs = clock.elapsedMs() + REACH_MS_MAX;
  for (;;) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (clock.elapsedMs() + REACH_EVERY_MS > endMs) throw new NotReached(String(error));
      await clock.sleep(REACH_EVERY_MS, signal);
    }
  }
}

function follow(
  what: "authentication" | "authorization",
  file: string,
  use: (until: AbortSignal) => Promise<void>,
  around: FollowSurroundings,
  signal: AbortSignal,
): void {
  const { clock, logger } = around;
  const record = reloadMetrics(what, around);
  let known = readFileSync(file, "utf8");
  record.inForce(known);
  let retry: Timer | undefined;
  let attempt = new AbortController(); // what is under way ends when the file changes again
  const reload = async (): Promise<void> => {
    retry?.cancel();
    const text = readFileSync(file, "utf8");
    if (text === known) return;
    const until = AbortSignal.any([attempt.signal, signal]);
    try {
      await use(until);
      known = text;
      logger.info(`reloaded ${what} config`, { file });
      record.reloaded("success");
      record.inForce(text);
    } catch (error) {
      if (until.aborted) return;
      logger.error(`the ${what} config cannot be used; what it said before stays`, { file, error });
      record.reloaded("failure");
      if (error instanceof NotReached) retry = clock.schedule(RETRY_MS, change);
      else known = text;
    }
  };
  let turn = Promise.resolve();
  const change = (): void => {
    attempt.abort();
    attempt = new AbortController();
    turn = turn.then(reload).catch((error: unknown) => {
      logger.error(`the ${what} config cannot be read`, { file, error });
      record.reloaded("failure");
    });
  };
  watchFiles([file], change, clock, signal);
  signal.addEventListener("abort", () => retry?.cancel(), { once: true });
}

function reloadMetrics(what: string, { metrics, clock, identity }: FollowSurroundings) {
  const name = `apiserver_${what}_config_controller`;
  const labels = ["apiserver_id_hash", "status"];
  const reloads = metrics.counter({
    name: `${name}_automatic_reloads_total`,
    help: `Total number of automatic reloads of ${what} configuration split by status and apiserver identity.`,
    labels,
  });
  const last = metrics.gauge({
    name: `${name}_automatic_reload_last_timestamp_seconds`,
    help: `Timestamp of the last automatic reload of ${what} configuration split by status and apiserver identity.`,
    labels,
  });
  const server = hashOf(identity);
  let config = "";
  metrics.gaugesOf(
    {
      name: `${name}_last_config_info`,
      help: `Information about the last applied ${what} configuration with hash as label, split by apiserver identity.`,
      labels: ["apiserver_id_hash", "hash"],
    },
    () => [{ labels: [server, config], value: 1 }],
  );
  return {
    reloaded(status: "success" | "failure"): void {
      reloads(server, status).add(1);
      last(server, status).set(clock.nowMs() / 1000);
    },
    inForce(text: string): void {
      config = hashOf(text);
    },
  };
}

function hashOf(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}
