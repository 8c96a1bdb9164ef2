/**
 * The keys of one KMS v2 provider: the seed that new values are encrypted with, and those of values
 * that were read.
 *
 * Promises:
 * 1. There is one seed as long as the plugin names the same key id; a new key id brings a new seed.
 * 2. Values can be written for WRITE_TTL_MS after the plugin was last well, and read for ever.
 * 3. A plugin that is away at the start is waited for in the background.
 * 4. One key is decrypted by one call, however many values wait for it. At most DECRYPTED_MAX keys are
 *    kept.
 */
import { createHash, randomBytes } from "node:crypto";
import type { MaybePromise } from "#lib/async/maybe-promise.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { aggregateText } from "../../config/aggregate-text.ts";
import { createAesGcm } from "../aes-gcm.ts";
import { createDerivedKeyGcm, SEED_BYTES } from "../derived-key-gcm.ts";
import { hashOf, type KmsMetrics } from "../encryption-metrics.ts";
import { EncryptionError, type Transformer } from "../transformer.ts";
import type { Annotation, EncryptedObject, StatusResponse } from "./kms-messages.ts";
import { SOURCE_TYPE } from "./kms-messages.ts";
import type { KmsService } from "./kms-service.ts";
import { checkEncryptedObject, keyIdFault } from "./validate-encrypted-object.ts";

/** The plugin is asked how it is this often while it is well, and while it is not. */
const WELL_EVERY_MS = 60_000;
const UNWELL_EVERY_MS = 10_000;
const WRITE_TTL_MS = 180_000;
/** Health checks between two calls are answered with the last one's outcome. */
const WELL_COUNTS_MS = 20_000;
const UNWELL_COUNTS_MS = 3_000;
const DECRYPTED_MAX = 10_000;

export interface KmsKeysOptions {
  readonly name: string;
  readonly service: KmsService;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: KmsMetrics;
}

export interface WriteKey {
  readonly transformer: Transformer;
  readonly keyId: string;
  readonly encryptedSource: Uint8Array;
  readonly annotations: Annotation[];
  readonly expiresAtMs: number;
}

export class KmsKeys {
  readonly #options: KmsKeysOptions;
  readonly #decrypted = new Map<string, Transformer>();
  readonly #decrypting = new Map<string, Promise<Transformer>>();
  #write: WriteKey | undefined;
  #version = "";
  #checking: Promise<string | undefined> | undefined;
  #last: { readonly fault: string | undefined; readonly countsUntilMs: number } | undefined;

  constructor(options: KmsKeysOptions) {
    this.#options = options;
  }

  /** The key of the latest writes, even if it is not good for another. */
  current(): WriteKey {
    if (this.#write === undefined) throw new EncryptionError("got unexpected nil transformer");
    return this.#write;
  }

  forWriting(): WriteKey {
    const key = this.current();
    const nowMs = this.#options.clock.nowMs();
    if (nowMs <= key.expiresAtMs) return key;
    const expired = `expired at ${rfc3339(key.expiresAtMs)} (current time is ${rfc3339(nowMs)})`;
    throw new EncryptionError(
      `encryptedDEKSource with keyID hash "${hashOf(key.keyId)}" ${expired}`,
    );
  }

  /** What decrypts the data of an envelope. */
  forReading(object: EncryptedObject): MaybePromise<Transformer> {
    const id = idOf(object);
    const known = this.#decrypted.get(id) ?? this.#decrypting.get(id);
    if (known !== undefined) return known;
    this.#options.metrics.cacheMiss();
    const decrypting = this.#decrypt(id, object).finally(() => this.#decrypting.delete(id));
    this.#decrypting.set(id, decrypting);
    return decrypting;
  }

  /** Why the provider is not well; undefined if it is. Asks the plugin unless it was just asked. */
  check(): Promise<string | undefined> {
    const last = this.#last;
    if (last !== undefined && this.#options.clock.elapsedMs() < last.countsUntilMs) {
      return Promise.resolve(last.fault);
    }
    this.#checking ??= this.#ask().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  /** Keeps the key up to date until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      for (;;) {
        const isWell = this.#last !== undefined && this.#last.fault === undefined;
        await clock.sleep(isWell ? WELL_EVERY_MS : UNWELL_EVERY_MS, signal);
        await this.check();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #ask(): Promise<string | undefined> {
    const { clock, logger, name } = this.#options;
    const fault = await this.#findFault();
    if (fault !== undefined) {
      logger.error("kms plugin failed health check probe", { name, error: fault });
    }
    const countsMs = fault === undefined ? WELL_COUNTS_MS : UNWELL_COUNTS_MS;
    this.#last = { fault, countsUntilMs: clock.elapsedMs() + countsMs };
    return fault;
  }

  async #findFault(): Promise<string | undefined> {
    const { name, service } = this.#options;
    let status: StatusResponse;
    try {
      status = await service.status();
    } catch (error) {
      const section = "failed to perform status section of the healthz check for KMS Provider";
      return `${section} ${name}, error: ${messageOf(error)}`;
    }
    const faults = [...this.#statusFaults(status), ...(await this.#followKeyId(status.keyId))];
    if (faults.length === 0) return undefined;
    return `kmsv2 Provider ${name} is not healthy, error: ${aggregateText(faults)}`;
  }

  #statusFaults({ healthz, version }: StatusResponse): string[] {
    const faults: string[] = [];
    if (healthz !== "ok") faults.push(`got unexpected healthz status: ${healthz}`);
    if (version !== "v2" && version !== "v2beta1") {
      faults.push(`expected KMSv2 API version v2, got ${version}`);
      return faults;
    }
    this.#version ||= version;
    if (this.#version !== version) {
      const initial = `the initial status response version ${this.#version}`;
      faults.push(`KMSv2 API version should not change after ${initial}, got ${version}`);
    }
    return faults;
  }

  /** Makes a new seed if the plugin uses another key now; on failure the old one goes on. */
  async #followKeyId(keyId: string): Promise<string[]> {
    const { clock, random, metrics, name } = this.#options;
    const wrong = keyIdFault(keyId);
    if (wrong !== undefined) {
      metrics.invalidStatusKey(name, wrong.code);
      return [`got invalid KMSv2 KeyID hash "${hashOf(keyId)}": ${wrong.message}`];
    }
    metrics.statusKey(name, keyId);
    const expiresAtMs = clock.nowMs() + WRITE_TTL_MS;
    const old = this.#write;
    if (old?.keyId === keyId) {
      this.#write = { ...old, expiresAtMs };
      return [];
    }
    const uid = random.uuid();
    let made: WriteKey | undefined;
    let fault = "<nil>";
    try {
      made = await this.#makeKey(uid, expiresAtMs);
      if (made.keyId === keyId) {
        this.#write = made;
        return [];
      }
    } catch (error) {
      fault = messageOf(error);
    }
    const hashes = `statusKeyIDHash="${hashOf(keyId)}", encryptKeyIDHash="${hashOf(made?.keyId ?? "")}", stateKeyIDHash="${hashOf(old?.keyId ?? "")}"`;
    const stateFault = old === undefined ? "got unexpected nil transformer" : "<nil>";
    const expires = old === undefined ? "0001-01-01T00:00:00Z" : rfc3339(old.expiresAtMs);
    return [
      `failed to rotate DEK uid="${uid}", useSeed=true, errState=${stateFault}, errGen=${fault}, ${hashes}, expirationTimestamp=${expires}`,
    ];
  }

  async #makeKey(uid: string, expiresAtMs: number): Promise<WriteKey> {
    const { service, clock, metrics } = this.#options;
    const startMs = clock.elapsedMs();
    const seed = randomBytes(SEED_BYTES);
    metrics.keyGenerated((clock.elapsedMs() - startMs) / 1000, false);
    const answer = await service.encrypt(uid, seed).catch((error: unknown) => {
      throw new EncryptionError(`failed to encrypt DEK, error: ${messageOf(error)}`);
    });
    const object: EncryptedObject = {
      data: Buffer.of(0),
      keyId: answer.keyId,
      encryptedSource: answer.ciphertext,
      annotations: answer.annotations,
      sourceType: SOURCE_TYPE.hkdfSeed,
    };
    checkEncryptedObject(object);
    const transformer = createDerivedKeyGcm(seed);
    this.#keep(idOf(object), transformer);
    const { keyId, encryptedSource, annotations } = object;
    return { transformer, keyId, encryptedSource, annotations, expiresAtMs };
  }

  async #decrypt(id: string, object: EncryptedObject): Promise<Transformer> {
    const { service, random } = this.#options;
    const { encryptedSource: ciphertext, keyId, annotations, sourceType } = object;
    const request = { uid: random.uuid(), ciphertext, keyId, annotations };
    const source = await service.decrypt(request).catch((error: unknown) => {
      const code = error instanceof EncryptionError ? error.grpcCode : undefined;
      throw new EncryptionError(`failed to decrypt DEK, error: ${messageOf(error)}`, code);
    });
    const make = sourceType === SOURCE_TYPE.hkdfSeed ? createDerivedKeyGcm : createAesGcm;
    const transformer = make(source);
    this.#keep(id, transformer);
    return transformer;
  }

  #keep(id: string, transformer: Transformer): void {
    const { name, metrics } = this.#options;
    if (this.#decrypted.size >= DECRYPTED_MAX) {
      this.#decrypted.delete(this.#decrypted.keys().next().value!);
    }
    this.#decrypted.set(id, transformer);
    metrics.cacheSize(name, this.#decrypted.size);
  }
}

/** Of a key: everything that the plugin needs to decrypt it. Lengths keep the parts apart. */
function idOf({ sourceType, encryptedSource, keyId, annotations }: EncryptedObject): string {
  const hash = createHash("sha256");
  const add = (part: Uint8Array | string): void => {
    hash.update(`${Buffer.byteLength(part)}:`).update(part);
  };
  add(String(sourceType));
  add(encryptedSource);
  add(keyId);
  const sorted = [...annotations].sort((a, b) => (a.key < b.key ? -1 : 1));
  for (const { key, value } of sorted) {
    add(key);
    add(value);
  }
  return hash.digest("base64");
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
