/** The certificate that a component serves with: the one that flags name, or one of its own. */
import { readFileSync } from "node:fs";
import type { Clock } from "#lib/time/clock.ts";
import { issueCertificate } from "#pki/certificate.ts";
import { newKey, privateKeyPem } from "#pki/key-pair.ts";
import { FlagError } from "../flags/parse-flags.ts";

export const CLIENT_CA_HELP =
  "authorities of clients of health and metrics; those of the API server unless given";

const YEAR_MS = 365 * 86_400_000;
const HOUR_MS = 3_600_000;

export function servingCertificate(
  files: { readonly certFile: string; readonly keyFile: string },
  hostname: string,
  clock: Clock,
  otherNames: readonly string[] = [],
): { readonly cert: string; readonly key: string } {
  const { certFile, keyFile } = files;
  if (certFile !== "" && keyFile !== "") {
    return { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") };
  }
  if (certFile !== keyFile) {
    throw new FlagError("--tls-cert-file and --tls-private-key-file need each other");
  }
  const { privateKey, publicKey } = newKey();
  const nowMs = clock.nowMs();
  const cert = issueCertificate(
    {
      subject: { commonName: hostname },
      publicKey,
      usages: ["digital signature", "server auth"],
      altNames: [hostname, "localhost", "127.0.0.1", ...otherNames],
      notBeforeMs: nowMs - HOUR_MS,
      notAfterMs: nowMs + YEAR_MS,
    },
    { key: privateKey },
  );
  return { cert, key: privateKeyPem(privateKey) };
}

/** Of `--client-ca-file`; the file is read when the server starts. */
export function clientCaOf(file: string): { readonly clientCaFile?: string } {
  return file === "" ? {} : { clientCaFile: file };
}
