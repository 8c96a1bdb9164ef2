/** The webhooks that the flags name: who decides on access, and who knows tokens. */
import { readFileSync, statSync } from "node:fs";
import { readAbacFile } from "#apiserver/authz/abac-file.ts";
import {
  type ConfiguredAuthorizer,
  readAuthorizationConfig,
} from "#apiserver/authz/authorization-config.ts";
import type {
  AbacMode,
  AccessModes,
  AccessWebhook,
  AuthorizationMode,
} from "#apiserver/authz/authorizers.ts";
import type { ConfiguredWebhook } from "#apiserver/authz/webhook-config.ts";
import type { ConnectStream } from "#apiserver/proxy/connect-stream.ts";
import type { SecurityOptions } from "#apiserver/request/security.ts";
import { withRetries } from "#apiserver/webhook/webhook.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { egressDialers } from "./egress.ts";
import type { ApiServerFlags } from "./flags/flags.ts";
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
  const connect = egressDialers(flags.egressSelectorConfigFile).controlplane;
  const tokenFile = flags.authenticationTokenWebhookConfigFile;
  return {
    modes: modesOf(authorizersOf(flags), connect, around),
    ...(tokenFile === undefined
      ? {}
      : {
          tokenWebhook: {
            ask: withRetries(
              webhookFrom(tokenFile, { timeoutMs: TOKEN_TIMEOUT_MS, connect }),
              around,
            ),
            version: versionOf(flags.authenticationTokenWebhookVersion),
            cacheMs: flags.authenticationTokenWebhookCacheTtl * 1000,
            logger,
          },
        }),
  };
}

function authorizersOf(flags: ApiServerFlags): readonly (ConfiguredAuthorizer | AbacMode)[] {
  const { authorizationConfig: file } = flags;
  if (file !== undefined) return readAuthorizationFile(file);
  return flags.authorizationMode.map((mode) => {
    if (mode === "Webhook") return webhookOfFlags(flags);
    return mode === "ABAC" ? policiesOf(flags) : (mode as AuthorizationMode);
  });
}

function policiesOf({ authorizationPolicyFile: file = "" }: ApiServerFlags): AbacMode {
  return { policies: readAbacFile(readFileSync(file, "utf8"), file) };
}

/** Reads the authorizers of a file that was read before, now or whenever it has changed. */
export function accessModesFromFile(
  file: string,
  { egressSelectorConfigFile }: Pick<ApiServerFlags, "egressSelectorConfigFile">,
  around: Surroundings,
): () => AccessModes {
  const before = readAuthorizationFile(file);
  const connect = egressDialers(egressSelectorConfigFile).controlplane;
  return () => modesOf(readAuthorizationFile(file, before), connect, around);
}

function modesOf(
  authorizers: readonly (ConfiguredAuthorizer | AbacMode)[],
  connect: ConnectStream | undefined,
  around: Surroundings,
): AccessModes {
  return authorizers.map((one) =>
    typeof one === "string" || "policies" in one ? one : accessWebhook(one, connect, around),
  );
}

/** `before`: what the same file said when the server started. */
function readAuthorizationFile(
  file: string,
  before?: readonly ConfiguredAuthorizer[],
): readonly ConfiguredAuthorizer[] {
  const text = readFileSync(file, "utf8");
  return readAuthorizationConfig({ text, fileFault, ...(before && { before }) });
}

function fileFault(file: string): string | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return `error loading file: stat ${file}: no such file or directory`;
  return stats.isFile() ? undefined : "must be a regular file";
}

function webhookOfFlags(flags: ApiServerFlags): ConfiguredWebhook {
  return {
    name: "webhook",
    kubeconfig: flags.authorizationWebhookConfigFile ?? "",
    timeoutMs: ACCESS_TIMEOUT_MS,
    version: versionOf(flags.authorizationWebhookVersion),
    allowedMs: flags.authorizationWebhookCacheAuthorizedTtl * 1000,
    refusedMs: flags.authorizationWebhookCacheUnauthorizedTtl * 1000,
    onFailure: "noOpinion",
    conditions: [],
  };
}

function accessWebhook(
  { kubeconfig, timeoutMs, ...webhook }: ConfiguredWebhook,
  connect: ConnectStream | undefined,
  around: Surroundings,
): AccessWebhook {
  const ask = withRetries(webhookFrom(kubeconfig, { timeoutMs, connect }), around);
  return { ...webhook, ask, logger: around.logger };
}

function versionOf(text: string): "v1" | "v1beta1" {
  return text === "v1" ? "v1" : "v1beta1";
}
