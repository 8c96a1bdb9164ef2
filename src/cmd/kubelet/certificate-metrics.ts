/** How long the kubelet's certificates are still valid, under upstream's names. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";
import { parseCertificate } from "#pki/key-pair.ts";
import { parseKubeconfig } from "#pki/kubeconfig.ts";
import type { NodeCertificate } from "./run-node.ts";

export interface CertificateSources {
  /** The kubeconfig, which may be rewritten when the certificate in it is renewed. */
  readonly file: string;
  /** The server's certificate. */
  readonly serving: NodeCertificate;
  readonly clock: Pick<Clock, "nowMs">;
}

export function addCertificateMetrics(
  metrics: Metrics,
  { file, serving, clock }: CertificateSources,
): void {
  const gauge = (name: string, help: string, pem: () => string | undefined): void =>
    metrics.gaugeOf({ name: `kubelet_certificate_manager_${name}`, help }, () =>
      secondsLeft(pem(), clock.nowMs()),
    );
  gauge("client_ttl_seconds", "Seconds until the client certificate expires.", () =>
    clientCertificateIn(file),
  );
  gauge("server_ttl_seconds", "Seconds until the server's certificate expires.", () =>
    "cert" in serving ? serving.cert : issuedCertificateIn(serving.folder),
  );
}

/** Infinite without a certificate, as upstream has it. */
function secondsLeft(pem: string | undefined, nowMs: number): number {
  if (pem === undefined) return Number.POSITIVE_INFINITY;
  return (Date.parse(parseCertificate(pem, "certificate").validTo) - nowMs) / 1000;
}

function clientCertificateIn(file: string): string | undefined {
  try {
    return parseKubeconfig(readFileSync(file, "utf8"))?.client.certificatePem;
  } catch {
    return undefined; // there is none, or it is being replaced
  }
}

function issuedCertificateIn(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, "kubelet-server-current.pem"), "utf8");
  } catch {
    return undefined; // not issued yet
  }
}
