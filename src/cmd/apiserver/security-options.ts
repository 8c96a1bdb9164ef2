/** What the flags say about authentication and authorization. */
import { readFileSync } from "node:fs";
import { WAIT_PART } from "#apiserver/flow/priority-level.ts";
import type { SecurityOptions } from "#apiserver/request/security.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { ApiServerFlags } from "./flags/flags.ts";
import { frontProxyOf } from "./front-proxy.ts";
import { type Keys, readPem } from "./keys.ts";
import { ownIssuersOf, tokenIssuersOf } from "./token-issuers.ts";
import { webhooksOf } from "./webhooks.ts";

/** Watches and streams at once; each costs a connection, a cursor and little more. */
const LONG_RUNNING_MAX = 100_000;

export function securityOptionsOf(
  flags: ApiServerFlags,
  keys: Keys,
  audit: SecurityOptions["audit"],
  clock: Clock,
  random: Random,
  logger: Logger,
): SecurityOptions {
  const issuers = ownIssuersOf(flags);
  const tokenFile = flags.tokenAuthFile;
  return {
    ...webhooksOf(flags, { clock, random, logger }),
    ...tokenIssuersOf(flags),
    bootstrapTokens: flags.enableBootstrapTokenAuth,
    features: flags.features,
    ...(tokenFile === undefined
      ? {}
      : { tokenFile: { path: tokenFile, text: readFileSync(tokenFile, "utf8") } }),
    frontProxy: frontProxyOf(flags),
    serviceAccounts: {
      keys: [keys.serviceAccountKeyPem, ...flags.serviceAccountKeyFile.map(readPem)],
      signingKeyPem: keys.serviceAccountKeyPem,
      issuers,
      audiences: flags.apiAudiences.length > 0 ? flags.apiAudiences : issuers.slice(0, 1),
      expirationSecondsMax: flags.serviceAccountMaxTokenExpiration,
      extendExpiration: flags.serviceAccountExtendTokenExpiration,
      ...(flags.serviceAccountJwksUri === undefined
        ? {}
        : { keysUrl: flags.serviceAccountJwksUri }),
    },
    ...flowOf(flags),
    ...(audit === undefined ? {} : { audit }),
    clock,
    random,
  };
}

function flowOf(flags: ApiServerFlags): Pick<SecurityOptions, "flow"> {
  const { maxRequestsInflight: reads, maxMutatingRequestsInflight: writes } = flags;
  if (!flags.enablePriorityAndFairness) return { flow: { reads, writes } };
  const seats = reads + writes;
  const limitMs = flags.requestTimeoutSeconds * 1000 * WAIT_PART;
  const wait = limitMs === 0 ? {} : { waitMsMax: limitMs };
  return { flow: { seats, longRunningMax: LONG_RUNNING_MAX, ...wait } };
}
