import assert from "node:assert/strict";
import { constants, generateKeyPairSync, sign } from "node:crypto";
import { describe, test } from "vitest";
import { LEAF_PEM, REQUEST_PEM } from "#api/testing/certificates.ts";
import { parsePem } from "#lib/der/pem.ts";
import { signatures } from "./signatures.ts";

const request = parsePem(REQUEST_PEM)[0]!.bytes;

describe("CertificateSigningRequest signatures", () => {
  test("a request signed with its own key is accepted", () =>
    assert.equal(signatures.request(request), undefined));

  test("a request that was changed", () => {
    const changed = Uint8Array.from(request);
    changed[20] = changed[20]! ^ 1; // in the subject
    assert.equal(signatures.request(changed), "x509: ECDSA verification failure");
  });

  test("bytes that are no certificate request are refused", () => {
    assert.notEqual(signatures.request(parsePem(LEAF_PEM)[0]!.bytes), undefined);
    assert.notEqual(signatures.request(new Uint8Array()), undefined);
  });
});

describe("CertificateSigningRequest signatures: proofs of possession", () => {
  const message = new TextEncoder().encode("the pod's uid");
  const rows = [
    {
      name: "ECDSA",
      pair: generateKeyPairSync("ec", { namedCurve: "P-256" }),
      hash: "sha256",
      options: {},
    },
    { name: "Ed25519", pair: generateKeyPairSync("ed25519"), hash: null, options: {} },
    {
      name: "RSA",
      pair: generateKeyPairSync("rsa", { modulusLength: 1024 }),
      hash: "sha256",
      options: { padding: constants.RSA_PKCS1_PSS_PADDING },
    },
  ];
  for (const { name, pair, hash, options } of rows) {
    test(name, () => {
      const publicKey = pair.publicKey.export({ format: "der", type: "spki" });
      const signature = sign(hash, message, { key: pair.privateKey, ...options });
      assert.equal(signatures.proof(publicKey, message, signature), undefined);
      const other = new TextEncoder().encode("another");
      assert.notEqual(signatures.proof(publicKey, other, signature), undefined);
    });
  }
});
