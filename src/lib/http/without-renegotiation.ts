/**
 * TLS settings of a server that refuses renegotiation, as Go's servers do. A client of TLS 1.2 could
 * otherwise make the server do one handshake after the other on a single connection.
 */
import { constants } from "node:crypto";
import type { SecureContextOptions } from "node:tls";

export function withoutRenegotiation<Context extends SecureContextOptions>(context: Context) {
  const secureOptions = (context.secureOptions ?? 0) | constants.SSL_OP_NO_RENEGOTIATION;
  return { ...context, secureOptions };
}
