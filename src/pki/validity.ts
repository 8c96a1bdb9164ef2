/** When a certificate is due: as soon as less than a third of its life is left. */
import { parseCertificate } from "./key-pair.ts";

export const DAY_MS = 86_400_000;

export function needsRenewal(certificatePem: string, nowMs: number): boolean {
  return nowMs >= renewalTimeMs(certificatePem);
}

export function renewalTimeMs(certificatePem: string): number {
  const { validFrom, validTo } = parseCertificate(certificatePem, "the certificate");
  const [startMs, endMs] = [Date.parse(validFrom), Date.parse(validTo)];
  return endMs - (endMs - startMs) / 3;
}
