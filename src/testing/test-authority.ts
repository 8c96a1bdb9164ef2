/** A certificate authority in memory, for what a test cluster serves on loopback. */
import { issueCertificate } from "#pki/certificate.ts";
import { type KeyPair, newKey, privateKeyPem } from "#pki/key-pair.ts";
import type { Subject } from "#pki/subject.ts";

export interface TestAuthority {
  readonly certificatePem: string;
  issue(subject: Subject, usage: "server auth" | "client auth"): KeyPair;
}

const YEAR_MS = 365 * 86_400_000;
/**
 * Valid from 1971 for a hundred years: Node checks certificates by the system's time, the API server by
 * the virtual time of the cluster.
 */
const VALIDITY = { notBeforeMs: YEAR_MS, notAfterMs: 100 * YEAR_MS };

export function newTestAuthority(): TestAuthority {
  const { publicKey, privateKey: key } = newKey();
  const certificatePem = issueCertificate(
    {
      subject: { commonName: "k8ts-test" },
      publicKey,
      usages: ["digital signature", "key encipherment", "cert sign"],
      authority: true,
      ...VALIDITY,
    },
    { key },
  );
  const authority = { certificatePem, key };
  return {
    certificatePem,
    issue: (subject, usage) => {
      const pair = newKey();
      const usages = ["digital signature", "key encipherment", usage] as const;
      const altNames = usage === "server auth" ? { altNames: ["localhost", "127.0.0.1"] } : {};
      const issued = issueCertificate(
        { subject, publicKey: pair.publicKey, usages, ...altNames, ...VALIDITY },
        authority,
      );
      return { certificatePem: issued, keyPem: privateKeyPem(pair.privateKey) };
    },
  };
}
