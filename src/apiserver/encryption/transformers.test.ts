/** Stored values that were made by other implementations of the same algorithms, in upstream's layout. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { createAesCbc } from "./aes-cbc.ts";
import { createAesGcm } from "./aes-gcm.ts";
import { createDerivedKeyGcm } from "./derived-key-gcm.ts";
import { identityTransformer } from "./identity.ts";
import { prefixTransformers } from "./prefix-transformers.ts";
import { createSecretbox } from "./secretbox.ts";
import { EncryptionError, type Opened, type Transformer } from "./transformer.ts";

const context = { key: "/registry/secrets/default/a", resource: "secrets" };
const PLAIN = '{"kind":"Secret"}';
const bytes = (from: number, to: number): Buffer =>
  Buffer.from(Array.from({ length: to - from }, (_, i) => from + i));
const KEY = bytes(0, 32);

const GCM =
  "azhzOmVuYzphZXNnY206djE6a2V5MTpkZWZnaGlqa2xtbm8zObUPF410pBwxOouoAB7fP2NGTKesC7+0gz4RWdNwrxQ=";
const CBC =
  "azhzOmVuYzphZXNjYmM6djE6a2V5MToyMzQ1Njc4OTo7PD0+P0BB/ieNISXR3F+mXqqEaXYxS6qybSVL9dtD5QOtGljyZv4=";

/** NaCl's own test vector of crypto_secretbox. */
const BOX = {
  key: "1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389",
  nonce: "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37",
  plain:
    "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705",
  sealed:
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5",
};

describe("encryption at rest: values that others have encrypted are opened", () => {
  test("createAesGcm opens a value that kube-apiserver encrypted", () => {
    const stored = Buffer.from(GCM, "base64").subarray("k8s:enc:aesgcm:v1:key1:".length);
    assert.equal(textOf(createAesGcm(KEY).open(stored, context)), PLAIN);
  });

  test("createAesCbc opens a value that kube-apiserver encrypted", () => {
    const stored = Buffer.from(CBC, "base64").subarray("k8s:enc:aescbc:v1:key1:".length);
    assert.equal(textOf(createAesCbc(KEY).open(stored, context)), PLAIN);
  });

  test("createSecretbox opens a value of NaCl's test vectors", () => {
    const stored = Buffer.from(BOX.nonce + BOX.sealed, "hex");
    const opened = createSecretbox(Buffer.from(BOX.key, "hex")).open(stored, context) as Opened;
    assert.equal(Buffer.from(opened.plain).toString("hex"), BOX.plain);
  });
});

const transformers: [name: string, transformer: Transformer, overhead: number][] = [
  ["aesgcm", createAesGcm(KEY), 12 + 16],
  ["aesgcm with a key of 16 bytes", createAesGcm(KEY.subarray(0, 16)), 12 + 16],
  ["aescbc", createAesCbc(KEY), 16 + (16 - (PLAIN.length % 16))],
  ["aescbc with a key of 24 bytes", createAesCbc(KEY.subarray(0, 24)), 16 + 15],
  ["secretbox", createSecretbox(KEY), 24 + 16],
  ["kms v2 seed", createDerivedKeyGcm(bytes(32, 64)), 32 + 12 + 16],
];

describe.each(transformers)("encryption at rest: %s", (name, transformer, overhead) => {
  test("what it seals it opens, and two seals of one value differ", () => {
    const [one, two] = [1, 2].map(() => transformer.seal(Buffer.from(PLAIN), context));
    assert.equal(one!.length, PLAIN.length + overhead);
    assert.notDeepEqual(one, two);
    assert.equal(textOf(transformer.open(one!, context)), PLAIN);
  });

  test("an empty value, and one of a megabyte", () => {
    for (const plain of [Buffer.alloc(0), Buffer.alloc(1_000_000, 7)]) {
      const opened = transformer.open(transformer.seal(plain, context), context) as Opened;
      assert.ok(plain.equals(opened.plain));
    }
  });

  test("a value cut short is refused", () => {
    const sealed = transformer.seal(Buffer.from(PLAIN), context);
    for (const length of [0, 5, 11, 20, sealed.length - 1]) {
      assert.throws(() => transformer.open(sealed.subarray(0, length), context), EncryptionError);
    }
  });

  if (name.startsWith("aescbc")) return; // nothing is authenticated

  test("a changed value is refused", () => {
    const sealed = Buffer.from(transformer.seal(Buffer.from(PLAIN), context));
    sealed[sealed.length - 1]! ^= 1;
    assert.throws(() => transformer.open(sealed, context), EncryptionError);
  });

  if (name === "secretbox") return; // the key in the store is not authenticated

  test("a value under another key is refused", () => {
    const sealed = transformer.seal(Buffer.from(PLAIN), context);
    const elsewhere = { ...context, key: "/registry/secrets/default/b" };
    assert.throws(() => transformer.open(sealed, elsewhere), /message authentication failed/);
  });
});

describe("encryption at rest: prefix transformers", () => {
  const counted: string[] = [];
  const options = {
    clock: { elapsedMs: () => 0 },
    count: (...[direction, resource, prefix, , error]: readonly unknown[]) =>
      void counted.push(`${direction} ${resource} ${prefix} ${error === undefined ? "OK" : "bad"}`),
  };
  const old = { prefix: "k8s:enc:aesgcm:v1:", transformer: createAesGcm(KEY) };
  const fresh = { prefix: "k8s:enc:aesgcm:v1:", transformer: createAesGcm(bytes(1, 33)) };
  const identity = { prefix: "", transformer: identityTransformer };

  test("the first one seals; what another has sealed is opened and is stale", () => {
    const before = prefixTransformers([old], "no match", options);
    const after = prefixTransformers([fresh, old], "no match", options);
    const sealed = before.seal(Buffer.from(PLAIN), context);
    assert.equal(Buffer.from(sealed.subarray(0, 18)).toString(), "k8s:enc:aesgcm:v1:");
    assert.deepEqual(after.open(sealed, context), { plain: Buffer.from(PLAIN), stale: true });
    const again = after.seal(Buffer.from(PLAIN), context);
    assert.equal((after.open(again, context) as Opened).stale, false);
  });

  test("a plain value is stale once a provider encrypts, and stays the same array", () => {
    const both = prefixTransformers([fresh, identity], "no match", options);
    const plain = Buffer.from(PLAIN);
    const opened = both.open(plain, context) as Opened;
    assert.equal(opened.plain, plain);
    assert.equal(opened.stale, true);
  });

  test("identity first still reads encrypted values, with the providers behind it", () => {
    const sealed = prefixTransformers([old], "no match", options).seal(Buffer.from(PLAIN), context);
    const leaving = prefixTransformers([identity, old], "no match", options);
    assert.deepEqual(leaving.open(sealed, context), { plain: Buffer.from(PLAIN), stale: true });
  });

  test("a value of no provider is refused, identity alone does not read encrypted ones", () => {
    const sealed = prefixTransformers([old], "no match", options).seal(Buffer.from(PLAIN), context);
    const box = prefixTransformers(
      [{ prefix: "k8s:enc:secretbox:v1:", transformer: createSecretbox(KEY) }],
      "no matching prefix found",
      options,
    );
    assert.throws(() => box.open(sealed, context), /^EncryptionError: no matching prefix found$/);
    const plain = prefixTransformers([identity], "no matching prefix found", options);
    assert.throws(() => plain.open(sealed, context), /no matching prefix found/);
    counted.length = 0;
    const other = prefixTransformers([fresh], "no match", options);
    assert.throws(() => other.open(sealed, context), /cipher: message authentication failed/);
    assert.deepEqual(counted, ["from_storage secrets k8s:enc:aesgcm:v1: bad"]);
  });
});

function textOf(opened: unknown): string {
  const { plain, stale } = opened as Opened;
  assert.equal(stale, false);
  return Buffer.from(plain).toString();
}
