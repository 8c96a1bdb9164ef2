/** The webhooks that the flags name: who decides on access, and who knows tokens. */
import type { AuthorizationMode, SecurityOptions } from "#apiserver/security.ts";
import { withRetries } from "#apiserver/webhook/webhook.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { ApiServerFlags } from "./flags.ts";
import { webhookFrom } from "./webhook-call.ts";

const ACCESS_TIMEOUT_MS = 30_000;
const TOKEN_TIMEOUT_MS = 10_000;

interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export function webhooksOf(
  flags: ApiServerFlags,
  around: Surroundings,
): Pick<SecurityOptions, "modes" | "tokenWebhook"> {
  const { logger } = around;
  const tokenFile = flags.authenticationTokenWebhookConfigFile;
  return {
    modes: flags.authorizationMode.map((mode) =>
      mode === "Webhook" ? accessWebhook(flags, around) : (mode as AuthorizationMode),
    ),
    ...(tokenFile === undefined
      ? {}
      : {
          tokenWebhook: {
            ask: withRetries(webhookFrom(tokenFile, TOKEN_TIMEOUT_MS), around),
            version: versionOf(flags.authenticationTokenWebhookVersion),
            cacheMs: flags.authenticationTokenWebhookCacheTtl * 1000,
            logger,
          },
        }),
  };
}

function accessWebhook(flags: ApiServerFlags, around: Surroundings) {
  const file = flags.authorizationWebhookConfigFile ?? "";
  return {
    name: "webhook",
    ask: withRetries(webhookFrom(file, ACCESS_TIMEOUT_MS), around),
    version: versionOf(flags.authorizationWebhookVersion),
    allowedMs: flags.authorizationWebhookCacheAuthorizedTtl * 1000,
    refusedMs: flags.authorizationWebhookCacheUnauthorizedTtl * 1000,
    onFailure: "noOpinion" as const,
    logger: around.logger,
  };
}

function versionOf(text: string): "v1" | "v1beta1" {
  return text === "v1" ? "v1" : "v1beta1";
}
