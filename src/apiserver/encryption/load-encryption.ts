/**
 * Transformers as an encryption configuration asks for them, and the health checks of its KMS plugins.
 * A plugin is asked once while loading; if it does not answer, loading goes on without it.
 */
import { createHash } from "node:crypto";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Tracer } from "#lib/tracing/tracer.ts";
import { aggregateText } from "../config/aggregate-text.ts";
import type { HealthCheck } from "../health/health-paths.ts";
import { createAesCbc } from "./aes-cbc.ts";
import { createAesGcm } from "./aes-gcm.ts";
import {
  type EncryptionConfig,
  type KeysConfig,
  type KmsConfig,
  kmsSocket,
  kmsTimeoutMs,
  type ProviderConfig,
  readEncryptionConfig,
} from "./encryption-config.ts";
import type { EncryptionMetrics } from "./encryption-metrics.ts";
import { type GroupResource, parseGroupResource, showGroupResource } from "./group-resource.ts";
import { identityTransformer } from "./identity.ts";
import { prefixTransformers } from "./prefix-transformers.ts";
import { createSecretbox } from "./secretbox.ts";
import type { PrefixTransformer, Transformer } from "./transformer.ts";

export interface LoadOptions {
  /** Whether the file may be loaded again: then all plugins share one health check. */
  readonly reload: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: EncryptionMetrics;
  readonly tracer?: Tracer | undefined;
}

export interface LoadedEncryption extends Disposable {
  /** SHA-256 of the file. */
  readonly hash: string;
  transformerOf(resource: GroupResource): Transformer | undefined;
  /** Why its KMS plugins are not well; undefined if they are, or there is none. */
  check(): Promise<string | undefined>;
  readonly usesKms: boolean;
  /** Calls that are under way are done after this. */
  readonly graceMs: number;
}

/** Throws, naming what is wrong with the file. */
export async function loadEncryption(
  text: string,
  options: LoadOptions,
): Promise<LoadedEncryption> {
  const config = within("error while parsing file", () =>
    readEncryptionConfig(text, options.reload),
  );
  const providers: KmsProvider[] = [];
  try {
    const rules = await buildRules(config, options, providers);
    return {
      hash: `sha256:${createHash("sha256").update(text).digest("hex")}`,
      transformerOf: (resource) => findRule(rules, resource),
      check: () => checkAll(providers),
      usesKms: providers.length > 0,
      graceMs: 2 * providers.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0),
      [Symbol.dispose]: () => {
        for (const provider of providers) provider[Symbol.dispose]();
      },
    };
  } catch (error) {
    for (const provider of providers) provider[Symbol.dispose]();
    throw new Error(`error while building transformers: ${messageOf(error)}`);
  }
}

/** Plugins together, under the name that upstream gives them. */
export function kmsHealthCheck(check: () => Promise<string | undefined>): HealthCheck {
  return { name: "kms-providers", check };
}

interface KmsProvider extends Disposable {
  readonly prefix: PrefixTransformer;
  readonly timeoutMs: number;
  check(): Promise<string | undefined>;
}

type Rules = ReadonlyMap<string, Transformer>;

const idOf = ({ group, resource }: GroupResource): string => `${group}/${resource}`;
const EVERYTHING: GroupResource = { group: "*", resource: "*" };

/** Exactly the resource, else all of its group, else everything. */
function findRule(rules: Rules, { group, resource }: GroupResource): Transformer | undefined {
  return (
    rules.get(idOf({ group, resource })) ??
    rules.get(idOf({ group, resource: "*" })) ??
    rules.get(idOf(EVERYTHING))
  );
}

async function buildRules(
  config: EncryptionConfig,
  options: LoadOptions,
  kms: KmsProvider[],
): Promise<Rules> {
  const all = new Map<string, PrefixTransformer[]>();
  for (const { resources, providers } of config.resources) {
    const transformers: PrefixTransformer[] = [];
    for (const provider of providers) {
      transformers.push(await providerTransformer(provider, options, kms));
    }
    for (const text of resources) {
      const resource = parseGroupResource(text);
      for (const wider of [{ group: resource.group, resource: "*" }, EVERYTHING]) {
        if (!all.has(idOf(wider))) continue;
        const [narrow, wide] = [showGroupResource(resource), showGroupResource(wider)];
        throw new Error(`resource "${narrow}" is masked by earlier rule "${wide}"`);
      }
      all.set(idOf(resource), [...(all.get(idOf(resource)) ?? []), ...transformers]);
    }
  }
  const prefixOptions = { clock: options.clock, count: options.metrics.count };
  return new Map(
    [...all].map(([id, list]) => [
      id,
      prefixTransformers(list, "no matching prefix found", prefixOptions),
    ]),
  );
}

async function providerTransformer(
  { aesgcm, aescbc, secretbox, kms }: ProviderConfig,
  options: LoadOptions,
  providers: KmsProvider[],
): Promise<PrefixTransformer> {
  const keyed = (kind: string, name: string, config: KeysConfig, create: CreateByKey) =>
    keyedTransformer(`k8s:enc:${kind}:v1:`, name, config, create, options);
  if (aesgcm !== undefined) return keyed("aesgcm", "AES", aesgcm, createAesGcm);
  if (aescbc !== undefined) return keyed("aescbc", "AES", aescbc, createAesCbc);
  if (secretbox !== undefined) return keyed("secretbox", "Secretbox", secretbox, createSecretbox);
  if (kms === undefined) return { prefix: "", transformer: identityTransformer };
  const provider = await openKms(kms, options);
  providers.push(provider);
  return provider.prefix;
}

type CreateByKey = (key: Uint8Array) => Transformer;

/** Each key has its name as a prefix of its own, behind the provider's. */
function keyedTransformer(
  prefix: string,
  what: string,
  { keys = [] }: KeysConfig,
  create: CreateByKey,
  { clock, metrics }: LoadOptions,
): PrefixTransformer {
  const byKey = keys.map(({ name = "", secret = "" }) => ({
    prefix: `${name}:`,
    transformer: create(Buffer.from(secret, "base64")),
  }));
  const noMatch = `no matching key was found for the provided ${what} transformer`;
  const transformer = prefixTransformers(byKey, noMatch, { clock, count: metrics.count });
  return { prefix, transformer };
}

const KMS_V1 =
  "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.";

async function openKms(config: KmsConfig, options: LoadOptions): Promise<KmsProvider> {
  if (config.apiVersion === "v1") throw new Error(KMS_V1);
  const { clock, random, logger, tracer } = options;
  const name = config.name ?? "";
  const metrics = options.metrics.kms;
  const timeoutMs = kmsTimeoutMs(config);
  // gRPC takes a while to load, and few clusters need it.
  const [{ connectKms }, { KmsKeys }, { createKmsTransformer }] = await Promise.all([
    import("./kms/kms-service.ts"),
    import("./kms/kms-keys.ts"),
    import("./kms/kms-transformer.ts"),
  ]);
  const socket = kmsSocket(config);
  const service = connectKms({ provider: name, socket, timeoutMs, clock, metrics });
  const keys = new KmsKeys({ name, service, clock, random, logger, metrics });
  await keys.check();
  const life = new AbortController();
  void keys.run(life.signal);
  return {
    prefix: {
      prefix: `k8s:enc:kms:v2:${name}:`,
      transformer: createKmsTransformer(name, keys, metrics, tracer),
    },
    timeoutMs,
    check: () => keys.check(),
    [Symbol.dispose]: () => {
      life.abort();
      service[Symbol.dispose]();
    },
  };
}

async function checkAll(providers: readonly KmsProvider[]): Promise<string | undefined> {
  const faults: string[] = [];
  for (const [at, provider] of providers.entries()) {
    const fault = await provider.check();
    if (fault !== undefined) faults.push(`kms-provider-${at}: ${fault}`);
  }
  return faults.length === 0 ? undefined : aggregateText(faults);
}

function within<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Error(`${what}: ${messageOf(error)}`);
  }
}
