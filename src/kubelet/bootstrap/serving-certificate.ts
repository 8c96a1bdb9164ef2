/**
 * `serverTLSBootstrap`: the kubelet's serving certificate from the cluster, by a CertificateSigningRequest
 * of the signer kubernetes.io/kubelet-serving with the node's addresses, which must be approved.
 *
 * Promises:
 * 1. The certificate and its key are kept as upstream keeps them: `kubelet-server-current.pem`, a link
 *    to the file of the latest. A kubelet that starts anew goes on with it.
 * 2. A new one is requested before it ends, and at the start if it ended or is for other addresses.
 */
import { X509Certificate } from "node:crypto";
import { mkdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { isIP } from "node:net";
import { basename, join } from "node:path";
import type { NodeAddress } from "#api/generated/core.v1.ts";
import type { Client } from "#client/client.ts";
import { readTextIfPresent, writeFileWhole } from "#host/files.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { KeyPair } from "#pki/key-pair.ts";
import { requestCertificate } from "./request-certificate.ts";
import { type RotationMetrics, runCertificateRotation } from "./rotate-certificate.ts";

const SIGNER = "kubernetes.io/kubelet-serving";
const CURRENT = "kubelet-server-current.pem";

export interface ServingCertificateOptions {
  readonly nodeName: string;
  readonly addresses: readonly NodeAddress[];
  /** Of `--cert-dir`. */
  readonly folder: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: RotationMetrics;
  /** Serve with it from now on. */
  onCertificate(pair: KeyPair): void;
}

export async function runServingCertificate(
  options: ServingCertificateOptions,
  signal: AbortSignal,
): Promise<void> {
  const { folder, nodeName, client, clock, random, logger, metrics, onCertificate } = options;
  const names = namesOf(options.addresses);
  if (!names.some((name) => isIP(name) !== 0)) {
    logger.warn("no serving certificate is requested: the node has no address", { nodeName });
    return;
  }
  const kept = await readPair(folder);
  const isUsable = kept !== undefined && isFor(kept, names, clock.nowMs());
  if (isUsable) onCertificate(kept);
  const usages = ["digital signature", "server auth"];
  await runCertificateRotation(
    {
      ...{ what: "serving certificate", clock, random, logger, metrics },
      current: isUsable ? kept : undefined,
      request: (signal) =>
        requestCertificate(
          client,
          nodeName,
          { signerName: SIGNER, usages, altNames: names },
          clock,
          signal,
        ),
      save: async (pair) => {
        await writePair(folder, pair, clock.nowMs());
        onCertificate(pair);
      },
    },
    signal,
  );
}

/** DNS names first, then addresses, each sorted. */
function namesOf(addresses: readonly NodeAddress[]): readonly string[] {
  const all = [...new Set(addresses.map(({ address }) => address))].filter((one) => one !== "");
  const isAddress = (name: string): boolean => isIP(name) !== 0;
  return [...all.filter((one) => !isAddress(one)).sort(), ...all.filter(isAddress).sort()];
}

/** Whether the certificate is valid now, for every name. */
function isFor({ certificatePem }: KeyPair, names: readonly string[], nowMs: number): boolean {
  const certificate = new X509Certificate(certificatePem);
  if (Date.parse(certificate.validTo) <= nowMs) return false;
  return names.every((name) =>
    isIP(name) === 0
      ? certificate.checkHost(name) !== undefined
      : certificate.checkIP(name) !== undefined,
  );
}

async function readPair(folder: string): Promise<KeyPair | undefined> {
  const text = await readTextIfPresent(join(folder, CURRENT));
  const certificatePem = /-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----\n?/s.exec(
    text ?? "",
  )?.[0];
  const keyPem = /-----BEGIN [A-Z ]*PRIVATE KEY-----.*-----END [A-Z ]*PRIVATE KEY-----\n?/s.exec(
    text ?? "",
  )?.[0];
  return certificatePem === undefined || keyPem === undefined
    ? undefined
    : { certificatePem, keyPem };
}

async function writePair(folder: string, pair: KeyPair, nowMs: number): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const stamp = new Date(nowMs).toISOString().slice(0, 19).replace(/[T:]/g, "-");
  const name = `kubelet-server-${stamp}.pem`;
  const text = `${pair.certificatePem.trimEnd()}\n${pair.keyPem}`;
  await writeFileWhole(join(folder, name), text, { mode: 0o600, durable: true });
  const current = join(folder, CURRENT);
  const before = await readlink(current).catch(() => undefined);
  const draft = `${current}.tmp`;
  await rm(draft, { force: true });
  await symlink(join(folder, name), draft);
  await rename(draft, current);
  if (before !== undefined && basename(before) !== name) {
    await rm(join(folder, basename(before)), { force: true });
  }
}
