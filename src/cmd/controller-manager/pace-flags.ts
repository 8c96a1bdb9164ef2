/**
 * Flags that say how fast and how often: requests a second, when everything is looked at again, and
 * how long changes are gathered before they are worked on.
 */
import type { Command as Parser } from "commander";
import type { RateLimit } from "#client/rate-limit.ts";
import type { AnyController } from "#controllers/registry/controllers.ts";
import type { Random } from "#lib/random.ts";
import { FlagError } from "../flags/parse-flags.ts";
import { durationOf, numberOf, textOf } from "../flags/read-flags.ts";

/** What holds where only one of the two flags is given. */
const PER_SECOND = 20;
const BURST = 30;
/** As client-go takes a rate of zero. */
const PER_SECOND_LEAST = 5;

/** Of controllers that ask a lot at once: how many times the rate and the burst they get. */
const EAGER: Readonly<Record<string, { readonly rate: number; readonly burst: number }>> = {
  "namespace-controller": { rate: 20, burst: 100 },
  "garbage-collector-controller": { rate: 2, burst: 1 },
};

/** The beginning of `--…-sync-period`, and the controller that it is about. */
const SYNCED: Readonly<Record<string, string>> = {
  namespace: "namespace-controller",
};

/** The beginning of `--…-updates-batch-period`, the controller and the kind that it gathers. */
const BATCHED: Readonly<Record<string, readonly [controller: string, kind: string]>> = {
  endpoint: ["endpoints-controller", "Pod"],
  endpointslice: ["endpointslice-controller", "Pod"],
  "mirroring-endpointslice": ["endpointslice-mirroring-controller", "Endpoints"],
};

type Flags = Readonly<Record<string, unknown>>;

export function addPaceFlags(parser: Parser): Parser {
  parser
    .option("--kube-api-qps <number>", "requests a second of each client; no limit unless given")
    .option("--kube-api-burst <number>", "requests at once of each client; no limit unless given")
    .option("--min-resync-period <duration>", "when everything is looked at again", "12h");
  for (const [flag, controller] of Object.entries(SYNCED)) {
    parser.option(`--${flag}-sync-period <duration>`, `when ${controller} looks at all again`);
  }
  for (const [flag, [controller]] of Object.entries(BATCHED)) {
    parser.option(
      `--${flag}-updates-batch-period <duration>`,
      `how long ${controller} gathers changes`,
      "0s",
    );
  }
  return parser;
}

/** Undefined: no limit. The API server limits requests itself (priority and fairness). */
export function rateLimitOf(flags: Flags): RateLimit | undefined {
  const isGiven = (flag: string): boolean => textOf(flags, flag) !== undefined;
  if (!isGiven("kube-api-qps") && !isGiven("kube-api-burst")) return undefined;
  const rate = isGiven("kube-api-qps") ? numberOf(flags, "kube-api-qps") : PER_SECOND;
  if (rate < 0) return undefined;
  const burst = isGiven("kube-api-burst") ? numberOf(flags, "kube-api-burst") : BURST;
  if (!Number.isInteger(burst) || burst <= 0) {
    throw new FlagError("--kube-api-burst: must be a whole number greater than 0");
  }
  return { perSecond: rate === 0 ? PER_SECOND_LEAST : rate, burst };
}

export function rateLimitFor(
  controller: string,
  limit: RateLimit | undefined,
): RateLimit | undefined {
  const more = EAGER[controller];
  if (limit === undefined || more === undefined) return limit;
  return { perSecond: limit.perSecond * more.rate, burst: limit.burst * more.burst };
}

/** The same controllers, at the pace that the flags say. */
export function withPace(
  controllers: readonly AnyController[],
  flags: Flags,
  random: Random,
): readonly AnyController[] {
  const leastMs = durationOf(flags, "min-resync-period");
  const periodMs = new Map(
    Object.entries(SYNCED).flatMap(([name, controller]) => {
      const flag = `${name}-sync-period`;
      return textOf(flags, flag) === undefined ? [] : [[controller, durationOf(flags, flag)]];
    }),
  );
  const batches = new Map(
    Object.entries(BATCHED).map(([name, [controller, kind]]) => [
      controller,
      { kind, delayMs: durationOf(flags, `${name}-updates-batch-period`) },
    ]),
  );
  return controllers.map((controller) => {
    // Not all at the same time.
    const resyncMs = periodMs.get(controller.name) ?? leastMs * (1 + random.next());
    const batch = batches.get(controller.name);
    return {
      ...controller,
      ...(resyncMs > 0 ? { resyncMs } : {}),
      feeds: controller.feeds.map((feed) =>
        feed.kind.names.kind === batch?.kind && batch.delayMs > 0
          ? { ...feed, delayMs: batch.delayMs }
          : feed,
      ),
    };
  });
}
