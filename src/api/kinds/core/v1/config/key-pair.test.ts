import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyPairKeyObjectResult } from "node:crypto";
import { describe, test } from "vitest";
import { signatures } from "#apiserver/write/signatures.ts";
import { issueCertificate } from "#pki/certificate.ts";
import { keyPairFault } from "./key-pair.ts";

const pem = (label: string, body = "eA==") =>
  `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;

describe("tls.crt and tls.key of a Secret", () => {
  const rows: readonly [name: string, certificate: string, key: string, fault: string][] = [
    [
      "an empty certificate is refused",
      "",
      "",
      "tls: failed to find any PEM data in certificate input",
    ],
    [
      "a private key in place of the certificate is refused as switched",
      pem("EC PRIVATE KEY"),
      "",
      "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched",
    ],
    [
      "other PEM blocks in place of the certificate are refused by their types",
      pem("A") + pem("B"),
      "",
      'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [A B]',
    ],
    [
      "a key without PEM data is refused",
      pem("CERTIFICATE"),
      "x",
      "tls: failed to find any PEM data in key input",
    ],
    [
      "a certificate in place of the key is refused",
      pem("CERTIFICATE"),
      pem("CERTIFICATE"),
      "tls: found a certificate rather than a key in the PEM for the private key",
    ],
    [
      "a key of another name",
      pem("CERTIFICATE"),
      pem("A") + pem("B"),
      'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [A B]',
    ],
    [
      "a CERTIFICATE block that is not DER is refused",
      pem("CERTIFICATE"),
      pem("PRIVATE KEY"),
      "x509: malformed certificate",
    ],
  ];
  for (const [name, certificate, key, fault] of rows) {
    test(name, () => assert.equal(keyPairFault(certificate, key), fault));
  }

  test("a key that does not belong to the certificate is refused", () => {
    const [a, b] = [pair("P-256"), pair("P-256")];
    const other = generateKeyPairSync("ed25519").privateKey.export(PKCS8) as string;
    assert.equal(keyPairFault(a.certificate, a.key), undefined);
    assert.equal(keyPairFault(a.certificate, a.oldKey), undefined);
    assert.equal(keyPairFault(a.certificate, b.key), "tls: private key does not match public key");
    assert.equal(
      keyPairFault(a.certificate, other),
      "tls: private key type does not match public key type",
    );
    assert.equal(
      keyPairFault(a.certificate, pem("PRIVATE KEY")),
      "tls: failed to parse private key",
    );
  });
});

test("keyPairFault: Ed25519 keys are compared by their public keys", () => {
  const [a, b] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
  const issuer = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const certificate = certificateOf({ ...a, privateKey: issuer });
  const [own, other] = [a, b].map(({ privateKey }) => privateKey.export(PKCS8) as string);
  assert.equal(keyPairFault(certificate, own!, signatures), undefined);
  const fault = "tls: private key does not match public key";
  assert.equal(keyPairFault(certificate, other!, signatures), fault);
});

test("keyPairFault: keys on other curves cannot be read", () => {
  const odd = pair("secp256k1");
  const fault = "tls: failed to parse private key";
  for (const key of [odd.key, odd.oldKey]) {
    assert.equal(keyPairFault(pair("P-256").certificate, key), fault);
  }
});

const PKCS8 = { type: "pkcs8", format: "pem" } as const;
const SEC1 = { type: "sec1", format: "pem" } as const;

function pair(namedCurve: string): { certificate: string; key: string; oldKey: string } {
  const keys = generateKeyPairSync("ec", { namedCurve });
  return {
    certificate: certificateOf(keys),
    key: keys.privateKey.export(PKCS8) as string,
    oldKey: keys.privateKey.export(SEC1) as string,
  };
}

function certificateOf({ privateKey, publicKey }: KeyPairKeyObjectResult): string {
  const request = {
    subject: { commonName: "x" },
    publicKey,
    usages: ["server auth"],
    notBeforeMs: 0,
    notAfterMs: 86_400_000,
  } as const;
  return issueCertificate(request, { key: privateKey });
}
