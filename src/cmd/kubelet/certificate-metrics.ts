/** How long the kubelet's certificates are still valid, under upstream's names. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { RotationMetrics } from "#kubelet/bootstrap/rotate-certificate.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";
import { parseCertificate } from "#pki/key-pair.ts";
import { parseKubeconfig } from "#pki/kubeconfig.ts";
import type { NodeCertificate } from "./run-node.ts";

/** A minute, an hour, four; a day, a week; one, three and six months; one and four years. */
const AGE_SECONDS = [
  60, 3_600, 14_400, 86_400, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000,
];

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

/** Of a kubelet that renews its client certificate. */
export function addClientRotationMetrics(metrics: Metrics): RotationMetrics {
  const name = "kubelet_certificate_manager_client_expiration_renew_errors";
  const errors = metrics.counter({
    name,
    help: "Renewals of the client certificate that failed.",
  })();
  return { failed: () => errors.add(1), rotated: () => undefined };
}

/** Of a kubelet whose serving certificate the cluster issues. */
export function addServerRotationMetrics(metrics: Metrics): RotationMetrics {
  const errors = metrics.counter({
    name: "kubelet_server_expiration_renew_errors",
    help: "Renewals of the serving certificate that failed.",
  })();
  const ages = metrics.histogram({
    name: "kubelet_certificate_manager_server_rotation_seconds",
    help: "How long ago a serving certificate was issued when it was replaced.",
    buckets: AGE_SECONDS,
  })();
  return { failed: () => errors.add(1), rotated: (seconds) => ages.observe(seconds) };
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
