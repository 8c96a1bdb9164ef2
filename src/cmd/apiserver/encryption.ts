/**
 * Encryption at rest by `--encryption-provider-config`, and the file of that flag as it changes
 * (`--encryption-provider-config-automatic-reload`). A file that can be used, and whose KMS plugins are
 * well, replaces the rules in force; any other is reported and changes nothing.
 */
import { readFileSync } from "node:fs";
import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import type { EncryptedStore } from "#apiserver/encryption/encrypted-store.ts";
import type { EncryptionAtRest } from "#apiserver/encryption/encryption-at-rest.ts";
import type { EncryptionMetrics } from "#apiserver/encryption/encryption-metrics.ts";
import type { LoadedEncryption } from "#apiserver/encryption/load-encryption.ts";
import type { HealthCheck } from "#apiserver/health/health-paths.ts";
import type { StartHook } from "#apiserver/health/start-hooks.ts";
import { REGISTRY } from "#apiserver/storage/resources.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";
import type { Tracer } from "#lib/tracing/tracer.ts";
import { watchFiles } from "#pki/watch-files.ts";
import type { Store } from "#store/contract.ts";
import type { ApiServerFlags } from "./flags/flags.ts";

/** New KMS plugins are waited for so long, and asked so often. */
const WELL_WITHIN_MS_MIN = 10_000;
const ASK_EVERY_MS = 100;
/** A file that could not be used is tried again after this: a plugin may have come up. */
const RETRY_MS = 60_000;

export interface EncryptionSurroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The server's own name, for the metrics. */
  readonly identity: string;
  readonly tracer?: Tracer | undefined;
}

export interface OpenedEncryption {
  readonly store: EncryptedStore;
  /** The same encryption on another store. */
  encrypted(inner: Store): EncryptedStore;
  readonly checks: readonly HealthCheck[];
  readonly hooks: readonly StartHook[];
}

type Flags = Pick<
  ApiServerFlags,
  "etcdPrefix" | "encryptionProviderConfig" | "encryptionProviderConfigAutomaticReload"
>;

/** Undefined without the flag. Throws if the file cannot be used. Ends when the signal aborts. */
export async function openEncryption(
  flags: Flags,
  inner: Store,
  around: EncryptionSurroundings,
  signal: AbortSignal,
): Promise<OpenedEncryption | undefined> {
  const { encryptionProviderConfig: file } = flags;
  if (file === undefined) return undefined;
  const [{ createEncryptionMetrics }, { EncryptionAtRest }, { EncryptedStore }, loading, keys] =
    await Promise.all([
      import("#apiserver/encryption/encryption-metrics.ts"),
      import("#apiserver/encryption/encryption-at-rest.ts"),
      import("#apiserver/encryption/encrypted-store.ts"),
      import("#apiserver/encryption/load-encryption.ts"),
      import("#apiserver/encryption/stored-resources.ts"),
    ]);
  const { clock, random, logger, tracer } = around;
  const reload = flags.encryptionProviderConfigAutomaticReload;
  const metrics = createEncryptionMetrics(around.metrics, clock, around.identity);
  const load = (text: string): Promise<LoadedEncryption> =>
    loading.loadEncryption(text, { reload, clock, random, logger, metrics, tracer });
  const loaded = await load(readConfig(file));
  metrics.config.inForce(loaded.hash);
  const encryption = new EncryptionAtRest(loaded, clock);
  signal.addEventListener("abort", () => encryption[Symbol.dispose](), { once: true });
  if (reload) followFile(file, load, encryption, metrics, around, signal);
  const resourceOf = keys.resourcesByKey(builtInKinds);
  const encrypted = (plain: Store): EncryptedStore =>
    new EncryptedStore({
      inner: plain,
      resourceOf,
      storedKeyOf: (key) => flags.etcdPrefix + key.slice(REGISTRY.length - 1),
      transformerOf: (resource) => encryption.transformerOf(resource),
    });
  return {
    store: encrypted(inner),
    encrypted,
    checks: reload || loaded.usesKms ? [loading.kmsHealthCheck(() => encryption.check())] : [],
    hooks: reload ? [RELOAD_HOOK] : [],
  };
}

const RELOAD_HOOK: StartHook = {
  name: "poststarthook/start-encryption-provider-config-automatic-reload",
  step: "caches",
};

function readConfig(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const why = `error reading encryption provider configuration file "${file}": ${messageOf(error)}`;
    throw new Error(`error while parsing file: error while loading file: ${why}`);
  }
  if (text !== "") return text;
  const why = `encryption provider configuration file "${file}" is empty`;
  throw new Error(`error while parsing file: error while loading file: ${why}`);
}

function followFile(
  file: string,
  load: (text: string) => Promise<LoadedEncryption>,
  encryption: EncryptionAtRest,
  metrics: EncryptionMetrics,
  { clock, logger }: EncryptionSurroundings,
  signal: AbortSignal,
): void {
  let turn = Promise.resolve();
  let retry: Timer | undefined;
  const reload = async (): Promise<void> => {
    retry?.cancel();
    let next: LoadedEncryption | undefined;
    try {
      next = await load(readConfig(file));
      if (next.hash === encryption.hash) {
        next[Symbol.dispose]();
        return;
      }
      await untilWell(next, clock, signal);
      encryption.replace(next);
      metrics.config.inForce(next.hash);
      metrics.config.reloaded("success");
      logger.info("loaded new encryption config", { file });
    } catch (error) {
      next?.[Symbol.dispose]();
      if (signal.aborted) return;
      metrics.config.reloaded("failure");
      logger.error("the encryption config cannot be used; what it said before stays", {
        file,
        error,
      });
      retry = clock.schedule(RETRY_MS, change);
    }
  };
  const change = (): void => {
    turn = turn.then(reload);
  };
  watchFiles([file], change, clock, signal);
  signal.addEventListener("abort", () => retry?.cancel(), { once: true });
}

async function untilWell(
  loaded: LoadedEncryption,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const endMs = clock.elapsedMs() + Math.max(WELL_WITHIN_MS_MIN, loaded.graceMs);
  for (;;) {
    const fault = await loaded.check();
    if (fault === undefined) return;
    if (clock.elapsedMs() >= endMs) {
      throw new Error(`health check for new transformers failed: ${fault}`);
    }
    await clock.sleep(ASK_EVERY_MS, signal);
  }
}
