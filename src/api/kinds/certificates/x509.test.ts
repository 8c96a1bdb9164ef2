import assert from "node:assert/strict";
import { describe, test } from "vitest";
import {
  AUTHORITY_PEM,
  LEAF_PEM,
  P224_KEY_BASE64,
  PUBLIC_KEY_BASE64,
  REQUEST_PEM,
  RSA_2048_KEY_BASE64,
} from "#api/testing/certificates.ts";
import { bytesOfBase64, parsePem } from "#lib/der/pem.ts";
import { readCertificate, readCertificateRequest, readPublicKey } from "./x509.ts";

const bytesOf = (pem: string) => parsePem(pem)[0]!.bytes;

describe("X.509 certificate", () => {
  test("readCertificate reads names, times and usages of a leaf certificate", () => {
    const { publicKey, ...leaf } = readCertificate(bytesOf(LEAF_PEM))!;
    assert.deepEqual(leaf, {
      isCa: false,
      hasBasicConstraints: true,
      dnsNames: ["a.example"],
      emailAddresses: [],
      notBeforeMs: Date.UTC(2030, 0, 1),
      notAfterMs: Date.UTC(2030, 0, 2),
    });
    assert.equal(publicKey.curve, "P-256");
  });

  test("readCertificate reports that a CA certificate is one", () =>
    assert.equal(readCertificate(bytesOf(AUTHORITY_PEM))?.isCa, true));

  test("the same key in a certificate, a request and on its own", () => {
    const request = readCertificateRequest(bytesOf(REQUEST_PEM));
    const alone = readPublicKey(bytesOfBase64(PUBLIC_KEY_BASE64));
    assert.deepEqual("publicKey" in request && request.publicKey, alone);
    assert.deepEqual(readCertificate(bytesOf(LEAF_PEM))?.publicKey, alone);
  });

  const keys = [
    { name: "RSA", base64: RSA_2048_KEY_BASE64, facts: ["RSA", undefined, 2048] },
    { name: "a short curve", base64: P224_KEY_BASE64, facts: ["ECDSA", "P-224", undefined] },
  ];
  for (const { name, base64, facts } of keys) {
    test(`a key: ${name}`, () => {
      const key = readPublicKey(bytesOfBase64(base64));
      assert.deepEqual([key?.algorithm, key?.curve, key?.modulusBits], facts);
    });
  }

  test("what is cut off or something else is refused", () => {
    const certificate = bytesOf(LEAF_PEM);
    const request = bytesOf(REQUEST_PEM);
    assert.equal(readCertificate(certificate.subarray(0, 100)), undefined);
    assert.equal(readCertificate(request), undefined);
    assert.equal(readPublicKey(certificate), undefined);
    assert.deepEqual(readCertificateRequest(new Uint8Array()), {
      fault: "asn1: syntax error: sequence truncated",
    });
    assert.deepEqual(readCertificateRequest(request.subarray(0, 100)), {
      fault: "asn1: syntax error: data truncated",
    });
    assert.deepEqual(readCertificateRequest(certificate), {
      fault: "asn1: structure error: tags don't match",
    });
  });
});
