/** A certificate authority kept in two files: made at first use, its certificate renewed in time. */
import type { KeyObject } from "node:crypto";
import { createPublicKey } from "node:crypto";
import { issueCertificate } from "./certificate.ts";
import {
  type KeyPair,
  newKey,
  parseCertificate,
  parsePrivateKey,
  privateKeyPem,
  readKeyPair,
} from "./key-pair.ts";
import type { KeyUsage } from "./key-usage.ts";
import { readPrivateFile, writePrivateFile, writePublicFile } from "./private-file.ts";
import type { Subject } from "./subject.ts";
import { DAY_MS, needsRenewal } from "./validity.ts";

export interface Authority extends KeyPair {
  readonly key: KeyObject;
}

type Purpose = "server auth" | "client auth";

export interface LeafRequest {
  readonly subject: Subject;
  readonly purpose: Purpose | readonly Purpose[];
  readonly altNames?: readonly string[];
}

const AUTHORITY_VALIDITY_MS = 3650 * DAY_MS;
const LEAF_VALIDITY_MS = 365 * DAY_MS;
/** Machines whose clock is a little behind must accept the certificate too. */
const CLOCK_SKEW_MS = 5 * 60_000;

export function openAuthority(path: string, commonName: string, nowMs: number): Authority {
  const [certificateFile, keyFile] = [`${path}.crt`, `${path}.key`];
  const pair = readKeyPair(certificateFile, keyFile);
  if (pair !== undefined && !needsRenewal(pair.certificatePem, nowMs)) {
    return { ...pair, key: parsePrivateKey(pair.keyPem, keyFile) };
  }
  // The key outlives its certificates: what the old one signed stays valid under the new one.
  const keyPem = readPrivateFile(keyFile) ?? privateKeyPem(newKey().privateKey);
  const key = parsePrivateKey(keyPem, keyFile);
  const certificatePem = issueCertificate(
    {
      subject: { commonName },
      publicKey: createPublicKey(key),
      usages: ["digital signature", "key encipherment", "cert sign"],
      authority: true,
      altNames: [commonName],
      notBeforeMs: nowMs - CLOCK_SKEW_MS,
      notAfterMs: nowMs + AUTHORITY_VALIDITY_MS,
    },
    { key },
  );
  writePrivateFile(keyFile, keyPem, true);
  writePublicFile(certificateFile, certificatePem, true);
  return { certificatePem, keyPem, key };
}

/** A new key and a certificate for it, not valid for longer than the authority itself. */
export function issueLeaf(authority: Authority, request: LeafRequest, nowMs: number): KeyPair {
  const { privateKey, publicKey } = newKey();
  const authorityEndsMs = Date.parse(parseCertificate(authority.certificatePem, "CA").validTo);
  const usages: KeyUsage[] = ["digital signature", "key encipherment", ...[request.purpose].flat()];
  const certificatePem = issueCertificate(
    {
      subject: request.subject,
      publicKey,
      usages,
      ...(request.altNames ? { altNames: request.altNames } : {}),
      notBeforeMs: nowMs - CLOCK_SKEW_MS,
      notAfterMs: Math.min(nowMs + LEAF_VALIDITY_MS, authorityEndsMs),
    },
    authority,
  );
  return { certificatePem, keyPem: privateKeyPem(privateKey) };
}
