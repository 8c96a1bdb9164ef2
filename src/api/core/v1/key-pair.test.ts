import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { describe, test } from "vitest";
import { issueCertificate } from "#pki/certificate.ts";
import { keyPairFault } from "./key-pair.ts";

const pem = (label: string, body = "eA==") =>
  `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;

describe("a certificate and a key", () => {
  const rows: readonly [name: string, certificate: string, key: string, fault: string][] = [
    ["nothing", "", "", "tls: failed to find any PEM data in certificate input"],
    [
      "switched",
      pem("EC PRIVATE KEY"),
      "",
      "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched",
    ],
    [
      "something else",
      pem("A") + pem("B"),
      "",
      'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [A B]',
    ],
    ["no key", pem("CERTIFICATE"), "x", "tls: failed to find any PEM data in key input"],
    [
      "a certificate twice",
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
    ["garbage", pem("CERTIFICATE"), pem("PRIVATE KEY"), "x509: malformed certificate"],
  ];
  for (const [name, certificate, key, fault] of rows) {
    test(name, () => assert.equal(keyPairFault(certificate, key), fault));
  }

  test("that fit, or do not", () => {
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

const PKCS8 = { type: "pkcs8", format: "pem" } as const;
const SEC1 = { type: "sec1", format: "pem" } as const;

function pair(namedCurve: string): { certificate: string; key: string; oldKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
  const request = {
    subject: { commonName: "x" },
    publicKey,
    usages: ["server auth"],
    notBeforeMs: 0,
    notAfterMs: 86_400_000,
  } as const;
  return {
    certificate: issueCertificate(request, { key: privateKey }),
    key: privateKey.export(PKCS8) as string,
    oldKey: privateKey.export(SEC1) as string,
  };
}
