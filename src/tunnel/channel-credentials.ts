/**
 * TLS for gRPC clients, also to servers that are named by an address. TLS allows no address as server
 * name, and recent versions of Node refuse it: then a name that means nothing is sent, and the
 * certificate is checked for the address.
 */
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { ChannelCredentials, ChannelOptions } from "@grpc/grpc-js";

export interface ClientTls {
  /** PEM, as all; the system's authorities unless given. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The name that the server's certificate must have; the host unless given. */
  readonly serverName?: string | undefined;
}

const NO_NAME = "address.invalid";

export async function channelCredentials(
  host: string,
  { ca, cert, key, serverName = host }: ClientTls,
): Promise<{ readonly credentials: ChannelCredentials; readonly options: ChannelOptions }> {
  const { credentials } = await import("#lib/grpc/grpc-library.ts");
  const bytes = (pem: string | undefined): Buffer | null =>
    pem === undefined ? null : Buffer.from(pem);
  const isAddress = isIP(serverName) > 0;
  const checked = isAddress
    ? {
        checkServerIdentity: (_host: string, certificate: PeerCertificate) =>
          checkServerIdentity(serverName, certificate),
      }
    : undefined;
  return {
    credentials: credentials.createSsl(bytes(ca), bytes(key), bytes(cert), checked),
    options: { "grpc.ssl_target_name_override": isAddress ? NO_NAME : serverName },
  };
}
