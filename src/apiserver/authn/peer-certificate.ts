/**
 * What a TLS connection proves about its client. Asked once per connection: the chain was verified
 * by the handshake against all authorities together; here it is found out which of them signed.
 */

import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { certificatesIn } from "#lib/der/pem.ts";
import { certificateSubject, readSubject } from "#pki/subject.ts";
import type { Peer } from "../request/request.ts";

export interface ClientAuthorities {
  /** PEM bundles. */
  readonly clientCaPem?: string;
  readonly frontProxyCaPem?: string;
}

const CHAIN_LENGTH_MAX = 8;

export function peerOf(socket: TLSSocket, authorities: ClientAuthorities): Peer {
  const address = socket.remoteAddress ?? "";
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return { address };
  const fault = (why: string): Peer => ({
    address,
    certificateFault: `verifying certificate ${identify(certificate)} failed: ${why}`,
  });
  if (!socket.authorized) return fault(String(socket.authorizationError ?? "not trusted"));

  const byClientCa = isSignedBy(certificate, authorities.clientCaPem);
  // Both may be the same authority: then the proxy is recognized by its common name.
  const byFrontProxy = isSignedBy(certificate, authorities.frontProxyCaPem);
  if (!byClientCa && !byFrontProxy) return fault("certificate signed by unknown authority");

  const { commonName, organizations, uids } = readSubject(certificateSubject(certificate.raw));
  if (uids.length > 1) return fault("expected 1 UID, but found multiple");
  return {
    address,
    certificate: {
      commonName,
      organizations,
      ...(uids[0] ? { uid: uids[0] } : {}),
      notAfterMs: Date.parse(certificate.validTo),
      fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
      client: byClientCa,
      frontProxy: byFrontProxy,
    },
  };
}

/** Whether the chain that the client sent leads to one of the bundle's authorities. */
function isSignedBy(certificate: X509Certificate, bundlePem: string | undefined): boolean {
  const roots = certificatesIn(bundlePem ?? "").map((pem) => new X509Certificate(pem));
  let link: X509Certificate | undefined = certificate;
  for (let length = 0; link !== undefined && length < CHAIN_LENGTH_MAX; length++) {
    const child: X509Certificate = link;
    const signs = (root: X509Certificate): boolean =>
      child.checkIssued(root) && child.verify(root.publicKey);
    if (roots.some(signs)) return true;
    link = child.issuerCertificate === child ? undefined : child.issuerCertificate;
  }
  return false;
}

function identify({ serialNumber, fingerprint256 }: X509Certificate): string {
  return `SN=${serialNumber}, SHA256=${fingerprint256}`;
}
