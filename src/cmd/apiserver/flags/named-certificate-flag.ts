/** `--tls-sni-cert-key cert,key[:name,…]`: a certificate for clients that ask for a host by name. */
import { parseIp } from "#api/validation/ip.ts";
import { badValue } from "../../flags/parse-flags.ts";

export interface NamedCertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Those of the certificate if empty. */
  readonly names: readonly string[];
}

export function certificateByName(
  value: string,
  before: readonly NamedCertificateFiles[],
): NamedCertificateFiles[] {
  const colon = value.indexOf(":");
  const given = colon < 0 ? undefined : value.slice(colon + 1).trim();
  if (given === "") throw badValue("empty names list is not allowed");
  const files = (colon < 0 ? value : value.slice(0, colon)).trim().split(",");
  const [certFile, keyFile] = files;
  if (certFile === undefined || keyFile === undefined || files.length !== 2) {
    throw badValue("expected comma separated certificate and key file paths");
  }
  const names = given?.split(",").map((name) => name.trim()) ?? [];
  const address = names.find((name) => parseIp(name) !== undefined);
  if (address !== undefined) {
    // Clients that go to an address do not name it, and Node asks for a certificate only by name.
    throw badValue(`certificates are chosen by host names only, and ${address} is an address`);
  }
  return [...before, { certFile, keyFile, names }];
}
