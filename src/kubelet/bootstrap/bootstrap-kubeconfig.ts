/**
 * `--bootstrap-kubeconfig`: a kubelet that has no kubeconfig yet gets a client certificate with the
 * credentials of another one, usually a bootstrap token, and writes its own. One whose certificate has
 * ended does so again.
 */
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { readTextIfPresent, writeFileWhole } from "#host/files.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type KeyPair, parseCertificate } from "#pki/key-pair.ts";
import { changeKubeconfig, formatKubeconfig, parseKubeconfig } from "#pki/kubeconfig.ts";
import { requestClientCertificate } from "./request-certificate.ts";
import { type RotationMetrics, runCertificateRotation } from "./rotate-certificate.ts";

export interface BootstrapOptions {
  readonly nodeName: string;
  /** Of `--bootstrap-kubeconfig`. */
  readonly bootstrapFile: string;
  /** Of `--kubeconfig`: made unless it is there with a certificate that is good. */
  readonly file: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export async function bootstrapKubeconfig(
  options: BootstrapOptions,
  signal: AbortSignal,
): Promise<void> {
  const { nodeName, bootstrapFile, file, clock, random, logger } = options;
  const known = parseKubeconfig((await readTextIfPresent(file)) ?? "");
  if (known !== undefined && isGood(known.client, clock.nowMs())) return;
  logger.info("Using bootstrap kubeconfig to generate TLS client cert, key and kubeconfig file");
  const connection = connectionFromFile(bootstrapFile, { clock });
  using transport = new HttpsTransport(connection, "kubelet");
  const client = new Client({ transport, clock, random, fieldManager: "kubelet" });
  const pair = await requestClientCertificate(client, nodeName, clock, signal);
  const { server, ca: authorityPem = "" } = connection;
  const user = `system:node:${nodeName}`;
  const content = formatKubeconfig({ server, authorityPem, user, client: pair });
  await writeFileWhole(file, content, { mode: 0o600, durable: true });
}

export interface RotateKubeconfigOptions extends Omit<BootstrapOptions, "bootstrapFile"> {
  readonly metrics: RotationMetrics;
}

/** Renews the certificate inside a kubeconfig. Lives until the signal aborts. */
export async function rotateKubeconfig(
  { nodeName, file, clock, random, logger, metrics }: RotateKubeconfigOptions,
  client: Client,
  signal: AbortSignal,
): Promise<void> {
  const known = parseKubeconfig((await readTextIfPresent(file)) ?? "");
  if (known === undefined) {
    logger.warn("the client certificate is not rotated: the kubeconfig has none inside it", {
      file,
    });
    return;
  }
  const save = async (pair: KeyPair): Promise<void> => {
    const text = (await readTextIfPresent(file)) ?? "";
    const next = changeKubeconfig(text, { ...known, client: pair });
    await writeFileWhole(file, next, { mode: 0o600, durable: true });
  };
  const request = (signal: AbortSignal): Promise<KeyPair> =>
    requestClientCertificate(client, nodeName, clock, signal);
  await runCertificateRotation(
    {
      ...{ what: "client certificate", current: known.client, request, save },
      ...{ clock, random, logger, metrics },
    },
    signal,
  );
}

export function isGood({ certificatePem }: KeyPair, nowMs: number): boolean {
  return Date.parse(parseCertificate(certificatePem, "the client certificate").validTo) > nowMs;
}
