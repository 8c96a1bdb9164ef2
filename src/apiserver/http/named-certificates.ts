/**
 * Which certificate is shown to a client that names the host it wants.
 *
 * Promises:
 * 1. Names that were given for a certificate count more than those that are in one; a whole name more
 *    than a wildcard, which stands for one label; of equals, the certificate that comes first.
 * 2. A client that names no host, or an unknown one, gets the server's own certificate, unless only
 *    another is valid for the name.
 */
import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext, type SecureContextOptions } from "node:tls";
import { withoutRenegotiation } from "#lib/http/without-renegotiation.ts";
import { certificateSubject, readSubject } from "#pki/subject.ts";

export interface NamedCertificate {
  /** Host names, also with a wildcard as their first label; those of the certificate if empty. */
  readonly names: readonly string[];
  readonly cert: string;
  readonly key: string;
}

export interface Certificates {
  /** Of the server; the others differ only in certificate and key. */
  readonly context: SecureContextOptions;
  readonly named?: readonly NamedCertificate[];
}

/** Undefined: the server's own. */
export type ChooseContext = (host: string) => SecureContext | undefined;

export function contextChooser({ context, named = [] }: Certificates): ChooseContext {
  if (named.length === 0) return () => undefined;
  const all = named.map(({ names, cert, key }) => ({
    names,
    certificate: new X509Certificate(cert),
    context: createSecureContext({
      minVersion: "TLSv1.2",
      ...withoutRenegotiation(context),
      cert,
      key,
    }),
  }));
  const byName = new Map<string, SecureContext>();
  const add = (name: string, one: SecureContext): void => {
    if (!byName.has(name)) byName.set(name, one);
  };
  for (const one of all) for (const name of one.names) add(name, one.context);
  for (const one of all) {
    if (one.names.length > 0) continue;
    for (const name of namesIn(one.certificate)) add(name, one.context);
  }
  const own = new X509Certificate(String(context.cert));
  return (host) => {
    const name = host.toLowerCase();
    const known = byName.get(name) ?? byName.get(name.replace(/^[^.]*/, "*"));
    if (known !== undefined || own.checkHost(name) !== undefined) return known;
    return all.find(({ certificate }) => certificate.checkHost(name) !== undefined)?.context;
  };
}

/** Its common name if that can be a host's, and its DNS names; addresses are never asked for by name. */
function namesIn(certificate: X509Certificate): string[] {
  const { commonName } = readSubject(certificateSubject(certificate.raw));
  const alternatives = (certificate.subjectAltName ?? "").split(", ");
  return [
    ...(HOST.test(commonName) && !ADDRESS.test(commonName) ? [commonName] : []),
    ...alternatives.flatMap((name) => (name.startsWith("DNS:") ? name.slice("DNS:".length) : [])),
  ];
}

const LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const HOST = new RegExp(`^(?:\\*|(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*)$`);
const ADDRESS = /^\d+(?:\.\d+){3}$/;
