/** A certificate kept in two files: what is there and valid is kept, what is missing or due is made again. */
import { codeOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type Authority, issueLeaf, type LeafRequest } from "./authority.ts";
import { ipBytes } from "./ip-bytes.ts";
import { type KeyPair, parseCertificate, readKeyPair } from "./key-pair.ts";
import { writePrivateFile, writePublicFile } from "./private-file.ts";
import { needsRenewal } from "./validity.ts";

export function ensureLeaf(
  authority: Authority,
  path: string,
  request: LeafRequest,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): KeyPair {
  const [certificateFile, keyFile] = [`${path}.crt`, `${path}.key`];
  const found = readUsable(certificateFile, keyFile, logger);
  if (found !== undefined && isGoodLeaf(found.certificatePem, authority, request, clock.nowMs())) {
    return found;
  }
  const pair = issueLeaf(authority, request, clock.nowMs());
  writePrivateFile(keyFile, pair.keyPem);
  writePublicFile(certificateFile, pair.certificatePem);
  return pair;
}

/** A damaged leaf is no loss: it is made again. Files that may not be read are the user's to mend. */
function readUsable(certificate: string, key: string, logger: Logger): KeyPair | undefined {
  try {
    return readKeyPair(certificate, key);
  } catch (error) {
    if (codeOf(error) !== undefined) throw error;
    logger.warn("a certificate is damaged and will be made again", { certificate, error });
    return undefined;
  }
}

export function isGoodLeaf(
  pem: string,
  authority: Authority,
  request: LeafRequest,
  nowMs: number,
): boolean {
  const certificate = parseCertificate(pem, "the certificate");
  const issuer = parseCertificate(authority.certificatePem, "the authority");
  const names = new Set(certificate.subjectAltName?.split(", ").map(bareName) ?? []);
  return (
    !needsRenewal(pem, nowMs) &&
    certificate.checkIssued(issuer) &&
    certificate.verify(issuer.publicKey) &&
    (request.altNames ?? []).every((name) => names.has(bareName(name)))
  );
}

/** One spelling for a name and for how node prints it: `IP Address:0:0:0:0:0:0:0:1` for `::1`. */
function bareName(name: string): string {
  const text = name.replace(/^(DNS|IP Address):/, "");
  return text.includes(":") ? ipBytes(text).toString("hex") : text;
}
