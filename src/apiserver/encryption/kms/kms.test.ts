/** KMS v2 against a real plugin over gRPC, and values that were made elsewhere in upstream's layout. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { createEncryptionMetrics } from "../encryption-metrics.ts";
import { loadEncryption } from "../load-encryption.ts";
import { EncryptionError, type Opened, type Transformer } from "../transformer.ts";
import { KmsKeys } from "./kms-keys.ts";
import type { EncryptResponse } from "./kms-messages.ts";
import { startKmsPlugin } from "./kms-plugin.testing.ts";
import type { KmsService } from "./kms-service.ts";
import { createKmsTransformer } from "./kms-transformer.ts";

const directory = mkdtempSync(join(tmpdir(), "k8ts-test-kms-"));
afterAll(() => rmSync(directory, { recursive: true }));

const context = { key: "/registry/secrets/default/a", resource: "secrets" };
const PLAIN = '{"kind":"Secret"}';
const bytes = (from: number, to: number): Buffer =>
  Buffer.from(Array.from({ length: to - from }, (_, i) => from + i));

/** Behind the prefix: an envelope with a seed, and one with a key, both made with fixed nonces. */
const WITH_SEED =
  "Ck3IycrLzM3Oz9DR0tPU1dbX2Nna29zd3t/g4eLj5OXm52RlZmdoaWprbG1ub/bcIbtnxcSjn/N+0tBJgzAp73uh04JLNM/UNkExXe8sGBIEaWQtMRoLc2VhbGVkLXNlZWQiIQocdmVyc2lvbi5lbmNyeXB0aW9uLnJlbW90ZS5pbxIBMSgB";
const WITH_KEY =
  "Ci1kZWZnaGlqa2xtbm+KXG0NO/bkiO8x9uMrnenEMZeB+f9uNQdDnD61Gn5P028SBGlkLTAaCnNlYWxlZC1kZWs=";

/** Answers without a plugin; `keyId` may be changed. */
class FixedService implements KmsService {
  keyId = "id-1";
  healthz = "ok";
  answer: Partial<EncryptResponse> = {};
  broken = false;
  decrypts = 0;
  async status() {
    if (this.broken) throw new EncryptionError("rpc error: code = Unavailable desc = gone");
    return { version: "v2", healthz: this.healthz, keyId: this.keyId };
  }
  async encrypt() {
    const ciphertext = Buffer.from("sealed");
    return { ciphertext, keyId: this.keyId, annotations: [], ...this.answer };
  }
  async decrypt({ ciphertext }: { ciphertext: Uint8Array }) {
    this.decrypts += 1;
    const known: Record<string, Buffer> = {
      "sealed-seed": bytes(32, 64),
      "sealed-dek": bytes(64, 96),
    };
    return known[Buffer.from(ciphertext).toString()]!;
  }
  [Symbol.dispose](): void {}
}

function keysWith(service: KmsService, clock = new VirtualClock("2030-01-01T00:00:00Z")) {
  const metrics = createEncryptionMetrics(new Metrics(), clock, "me").kms;
  const surroundings = { clock, random: systemRandom, logger: silentLogger, metrics };
  const keys = new KmsKeys({ name: "mock", service, ...surroundings });
  return { keys, clock, transformer: createKmsTransformer("mock", keys, metrics) };
}

describe("KMS v2 envelopes that others have made are opened", () => {
  test("with a seed (HKDF), by one call of the plugin for all values", async () => {
    const service = new FixedService();
    const { keys, transformer } = keysWith(service);
    await keys.check();
    const stored = Buffer.from(WITH_SEED, "base64");
    const opened = await Promise.all([1, 2, 3].map(() => transformer.open(stored, context)));
    for (const { plain, stale } of opened) {
      assert.deepEqual([Buffer.from(plain).toString(), stale], [PLAIN, false]);
    }
    assert.equal(service.decrypts, 1);
    assert.ok(!(transformer.open(stored, context) instanceof Promise), "the key is cached now");
  });

  test("with a key of its own (before 1.29): stale", async () => {
    const { keys, transformer } = keysWith(new FixedService());
    await keys.check();
    const { plain, stale } = await transformer.open(Buffer.from(WITH_KEY, "base64"), context);
    assert.deepEqual([Buffer.from(plain).toString(), stale], [PLAIN, true]);
  });
});

describe("the key of a KMS v2 provider", () => {
  test("values can be written for three minutes after the plugin was last well", async () => {
    const service = new FixedService();
    const { keys, clock, transformer } = keysWith(service);
    assert.throws(() => transformer.seal(Buffer.from("x"), context), /unexpected nil transformer/);
    assert.equal(await keys.check(), undefined);
    service.broken = true;
    await clock.advance(180_000);
    transformer.seal(Buffer.from("x"), context);
    await clock.advance(1);
    assert.throws(
      () => transformer.seal(Buffer.from("x"), context),
      /encryptedDEKSource with keyID hash "sha256:\w{64}" expired at 2030-01-01T00:03:00Z \(current time is 2030-01-01T00:03:00Z\)/,
    );
    assert.match(
      (await keys.check())!,
      /status section of the healthz check for KMS Provider mock/,
    );
    service.broken = false;
    await clock.advance(3_000); // as long as the fault counts
    assert.equal(await keys.check(), undefined);
    transformer.seal(Buffer.from("x"), context);
  });

  test("the plugin is asked every minute, every ten seconds while it is not well", async () => {
    const service = new FixedService();
    const { keys, clock } = keysWith(service);
    await keys.check();
    const life = new AbortController();
    const running = keys.run(life.signal);
    service.keyId = "id-2";
    await clock.advance(59_000);
    assert.equal(keys.current().keyId, "id-1");
    await clock.advance(1_000);
    assert.equal(keys.current().keyId, "id-2");
    service.broken = true;
    await clock.advance(60_000);
    service.broken = false;
    service.keyId = "id-3";
    await clock.advance(10_000);
    assert.equal(keys.current().keyId, "id-3");
    life.abort();
    await running;
  });

  const unwell: [name: string, set: (service: FixedService) => void, says: RegExp][] = [
    ["it says so", (s) => void (s.healthz = "sick"), /got unexpected healthz status: sick/],
    [
      "it names no key",
      (s) => void (s.keyId = ""),
      /got invalid KMSv2 KeyID hash "": keyID is empty/,
    ],
    [
      "its key has another id than its status",
      (s) => void (s.answer = { keyId: "x" }),
      /failed to rotate DEK uid="[\w-]+", useSeed=true, errState=got unexpected nil transformer, errGen=<nil>, statusKeyIDHash="sha256:\w+", encryptKeyIDHash="sha256:\w+", stateKeyIDHash="", expirationTimestamp=0001-01-01T00:00:00Z/,
    ],
    [
      "its annotations are no domain names",
      (s) => void (s.answer = { annotations: [{ key: "x", value: Buffer.of(1) }] }),
      /failed to validate annotations: annotations: Invalid value: "x": should be a domain with at least two segments separated by dots/,
    ],
    [
      "its encrypted key is too long",
      (s) => void (s.answer = { ciphertext: Buffer.alloc(1025) }),
      /encrypted DEK source is 1025 bytes, which exceeds the max size of 1024/,
    ],
  ];
  test.each(unwell)("a plugin is not well if %s", async (_, set, says) => {
    const service = new FixedService();
    set(service);
    assert.match((await keysWith(service).keys.check())!, says);
  });
});

describe.each([
  ["a socket", join(directory, "kms.sock"), `unix://${join(directory, "kms.sock")}`],
  ["an abstract socket", `@k8ts-test-${process.pid}`, `unix:///@k8ts-test-${process.pid}`],
])("a KMS v2 plugin on %s", (_, socket, endpoint) => {
  const config = `{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration,
    resources: [{resources: [secrets], providers: [{kms: {apiVersion: v2, name: mock, endpoint: "${endpoint}", timeout: 1s}}]}]}`;
  const load = (metrics = new Metrics()) =>
    loadEncryption(config, {
      reload: false,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      metrics: createEncryptionMetrics(metrics, systemClock, "me"),
    });
  const secrets = { group: "", resource: "secrets" };

  test("encrypts and decrypts keys, also of a server that came before, and rotates", async () => {
    const metrics = new Metrics();
    await using plugin = await startKmsPlugin(socket);
    using first = await load(metrics);
    assert.equal(await first.check(), undefined);
    const sealed = first.transformerOf(secrets)!.seal(Buffer.from(PLAIN), context);
    assert.match(Buffer.from(sealed).toString("latin1"), /^k8s:enc:kms:v2:mock:\n/);
    using second = await load();
    const reading = second.transformerOf(secrets)!;
    assert.deepEqual(await opened(reading, sealed), [PLAIN, false]);
    assert.deepEqual(await opened(reading, sealed), [PLAIN, false]);
    assert.deepEqual([plugin.calls.encrypt, plugin.calls.decrypt], [2, 1]);
    plugin.keyId = "key-2";
    using third = await load();
    assert.deepEqual(await opened(third.transformerOf(secrets)!, sealed), [PLAIN, true]);
    assert.match(
      metrics.text(),
      /kms_operations_latency_seconds_count\{provider_name="mock",method_name="\/v2.KeyManagementService\/Encrypt",grpc_status_code="OK"\} 1/,
    );
  });

  test("that is away: loading goes on, the health check says why, its keys come later", async () => {
    const keys = new Map();
    let sealed: Uint8Array;
    {
      await using _plugin = await startKmsPlugin(socket, keys);
      using loaded = await load();
      sealed = loaded.transformerOf(secrets)!.seal(Buffer.from(PLAIN), context);
    }
    using loaded = await load();
    const transformer = loaded.transformerOf(secrets)!;
    assert.match(
      (await loaded.check())!,
      /^kms-provider-0: failed to perform status section of the healthz check for KMS Provider mock, error: rpc error: code = DeadlineExceeded/,
    );
    assert.throws(() => transformer.open(sealed, context), /unexpected nil transformer/);
    await using _plugin = await startKmsPlugin(socket, keys);
    const endMs = performance.now() + 15_000;
    while ((await loaded.check()) !== undefined) assert.ok(performance.now() < endMs);
    assert.deepEqual(await opened(transformer, sealed), [PLAIN, false]);
  }, 30_000);
});

async function opened(transformer: Transformer, sealed: Uint8Array): Promise<[string, boolean]> {
  const { plain, stale }: Opened = await transformer.open(sealed, context);
  return [Buffer.from(plain).toString(), stale];
}
