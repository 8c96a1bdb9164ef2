import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { type Store, VALUE_BYTES_MAX } from "#store/contract.ts";
import { createMemoryStore } from "#store/memory.ts";
import { describeStore } from "#store/testing/contract-suite.ts";
import { createAesGcm } from "./aes-gcm.ts";
import { EncryptedStore } from "./encrypted-store.ts";
import { identityTransformer } from "./identity.ts";
import { prefixTransformers } from "./prefix-transformers.ts";
import { EncryptionError, type Transformer } from "./transformer.ts";

const gcm = prefixTransformers(
  [
    { prefix: "k8s:enc:aesgcm:v1:", transformer: createAesGcm(Buffer.alloc(32, 1)) },
    { prefix: "", transformer: identityTransformer },
  ],
  "no matching prefix found",
  { clock: { elapsedMs: () => 0 }, count: () => undefined },
);

/** The prefix, the nonce and the tag. */
const OVERHEAD = "k8s:enc:aesgcm:v1:".length + 12 + 16;

/** Opens what gcm has sealed, but only after a turn, as with a KMS plugin. */
const slow: Transformer = {
  seal: (plain, context) => gcm.seal(plain, context),
  open: async (stored, context) => {
    await Promise.resolve();
    return await gcm.open(stored, context);
  },
};

for (const [name, transformer] of [
  ["with local keys", gcm],
  ["with keys of a KMS plugin", slow],
] as const) {
  describeStore(`encrypted, ${name}`, async () => {
    const clock = new VirtualClock("2030-01-01T00:00:00Z");
    const inner = createMemoryStore({ clock });
    const store = encryptedBy(transformer, inner);
    return {
      store,
      prefix: "/test/",
      valueBytesMax: VALUE_BYTES_MAX - OVERHEAD,
      over: (restored) => encryptedBy(transformer, restored),
      passTime: (durationMs) => clock.advance(durationMs),
      async [Symbol.asyncDispose]() {
        await store[Symbol.asyncDispose]();
        clock[Symbol.dispose]();
      },
    };
  });
}

describe("an encrypted store", () => {
  test("holds no plain value, and a transaction writes encrypted ones, too", async () => {
    await using inner = createMemoryStore({ clock: new VirtualClock() });
    const store = encryptedBy(gcm, inner);
    await store.put("/a", Buffer.from("secret"));
    await store.transact([{ op: "put", key: "/b", value: Buffer.from("secret") }]);
    for (const key of ["/a", "/b"]) {
      const stored = Buffer.from((await inner.get(key)).entry!.value);
      assert.match(stored.toString("latin1"), /^k8s:enc:aesgcm:v1:/);
      assert.ok(!stored.includes("secret"));
      assert.equal(Buffer.from((await store.get(key)).entry!.value).toString(), "secret");
    }
  });

  test("a value that cannot be decrypted stops no other, and its fault is known", async () => {
    await using inner = createMemoryStore({ clock: new VirtualClock() });
    const store = encryptedBy(gcm, inner);
    await store.put("/a", Buffer.from("1"));
    await inner.put("/b", Buffer.from("k8s:enc:aesgcm:v1:garbage, garbage, garbage"));
    const { entries } = await store.range("/");
    assert.equal(Buffer.from(entries[0]!.value).toString(), "1");
    assert.equal(store.faultOf(entries[0]!.value), undefined);
    assert.match(String(store.faultOf(entries[1]!.value)), /message authentication failed/);
  });

  test("isStale: plain values of a resource that is encrypted now", async () => {
    await using inner = createMemoryStore({ clock: new VirtualClock() });
    const store = encryptedBy(gcm, inner);
    await inner.put("/a", Buffer.from("1"));
    assert.equal(await store.isStale("/a"), true);
    await store.put("/a", Buffer.from("1"));
    assert.equal(await store.isStale("/a"), false);
  });

  test("a write that cannot be encrypted is refused and changes nothing", async () => {
    await using inner = createMemoryStore({ clock: new VirtualClock() });
    const store = encryptedBy(
      {
        seal: () => {
          throw new EncryptionError("the key has expired");
        },
        open: (stored) => ({ plain: stored, stale: false }),
      },
      inner,
    );
    await assert.rejects(store.put("/a", Buffer.from("1")), /the key has expired/);
    assert.equal((await inner.get("/a")).entry, undefined);
  });

  test("a watch hands an own write back as the same array, before it is acknowledged", async () => {
    await using inner = createMemoryStore({ clock: new VirtualClock() });
    const store = encryptedBy(gcm, inner);
    const abort = new AbortController();
    const received: Uint8Array[] = [];
    const watching = store.watch("/", { signal: abort.signal }).deliverTo(({ events }) => {
      for (const { value } of events) received.push(value);
    });
    const value = Buffer.from("1");
    const wrote = store.put("/a", value);
    assert.deepEqual(
      received.map((one) => one === value),
      [true],
    );
    await wrote;
    abort.abort();
    await watching;
  });
});

function encryptedBy(transformer: Transformer, inner: Store): EncryptedStore {
  return new EncryptedStore({
    inner,
    resourceOf: () => ({ group: "", resource: "secrets" }),
    transformerOf: () => transformer,
  });
}
