/** Whose client certificate a connection has shown, if an authority of the server has signed it. */
import type { TLSSocket } from "node:tls";
import { certificateSubject, readSubject } from "./subject.ts";

export function verifiedSubject(
  socket: TLSSocket,
): { readonly name: string; readonly groups: readonly string[] } | undefined {
  if (!socket.authorized) return undefined;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  const { commonName, organizations } = readSubject(certificateSubject(certificate.raw));
  return { name: commonName, groups: organizations };
}
