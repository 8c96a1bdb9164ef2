import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { describe, test } from "vitest";
import { fromPem } from "#lib/der/pem.ts";
import { issueCertificate } from "./certificate.ts";
import { createRequest, grantRequest } from "./certificate-request.ts";
import { newKey, privateKeyPem } from "./key-pair.ts";

const NOW_MS = Date.parse("2030-01-01T00:00:00Z");
const HOUR_MS = 3_600_000;
const authority = newKey();
const signer = {
  key: authority.privateKey,
  certificatePem: issueCertificate(
    {
      subject: { commonName: "kubernetes" },
      publicKey: authority.publicKey,
      usages: ["cert sign"],
      authority: true,
      notBeforeMs: NOW_MS - HOUR_MS,
      notAfterMs: NOW_MS + 1000 * HOUR_MS,
    },
    { key: authority.privateKey },
  ),
};
const { privateKey } = newKey();
const subject = { commonName: "system:node:a", organizations: ["system:nodes"] };
const request = fromPem(createRequest(subject, ["a.example", "10.0.0.1", "fd00::1"], privateKey));

function grant(lifetimeMs: number, usages: readonly string[] = ["client auth", "signing"]) {
  return new X509Certificate(grantRequest({ der: request, usages, lifetimeMs }, signer, NOW_MS));
}

describe("a granted certificate", () => {
  test("has the subject, the names and the key that were asked for", () => {
    const certificate = grant(HOUR_MS);
    assert.equal(certificate.subject, "O=system:nodes\nCN=system:node:a");
    assert.equal(
      certificate.subjectAltName,
      "DNS:a.example, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1",
    );
    assert.ok(certificate.checkPrivateKey(createPrivateKey(privateKeyPem(privateKey))));
    assert.ok(certificate.verify(authority.publicKey));
    assert.equal(certificate.ca, false);
    assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
  });

  const lives = [
    { name: "a short one lives as long as asked", asked: HOUR_MS, got: HOUR_MS },
    { name: "back-dating is a part of a long one", asked: 9 * HOUR_MS, got: 9 * HOUR_MS - 300_000 },
    { name: "none outlives the authority", asked: 9999 * HOUR_MS, got: 1000 * HOUR_MS },
  ];
  for (const { name, asked, got } of lives) {
    test(name, () => {
      const { validFrom, validTo } = grant(asked);
      assert.equal(Date.parse(validFrom), NOW_MS - 300_000);
      assert.equal(Date.parse(validTo), NOW_MS + got);
    });
  }

  test("a request that was changed after signing is refused", () => {
    const forged = Buffer.from(request);
    forged[forged.indexOf("system:node:a") + 12] = "b".charCodeAt(0);
    assert.throws(
      () => grantRequest({ der: forged, usages: [], lifetimeMs: HOUR_MS }, signer, NOW_MS),
      /not signed with its own key/,
    );
  });

  test("unknown key usages are refused", () => {
    assert.throws(() => grant(HOUR_MS, ["flying"]), /unrecognized usage values: \["flying"\]/);
  });
});
