/** The rules for the transport of an egress selection, with upstream's words. */
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";

export interface EgressTransport {
  readonly uds?: { readonly udsName?: string } | null;
  readonly tcp?: { readonly url?: string; readonly tlsConfig?: EgressTlsFiles | null } | null;
}

/** Names of files. */
export interface EgressTlsFiles {
  readonly caBundle?: string;
  readonly clientKey?: string;
  readonly clientCert?: string;
  readonly tlsServerName?: string;
}

/** Whether a file is there. */
export type FileExists = (file: string) => boolean;

/** GRPC over TCP, which upstream refuses, has the rules of HTTPConnect. */
export function transportFaults(
  protocol: "HTTPConnect" | "GRPC",
  transport: EgressTransport | undefined | null,
  place: Path,
  exists: FileExists,
): readonly FieldError[] {
  if (transport === undefined || transport === null) {
    return [required(place.child("transport"), `transport must be set for ${protocol}`)];
  }
  const { tcp = null, uds = null } = transport;
  if (tcp !== null && uds !== null) {
    const value = { URL: tcp.url ?? "", TLSConfig: tcp.tlsConfig ?? null };
    return [invalid(place.child("tcp"), value, "TCP and UDS cannot both be set")];
  }
  if (tcp !== null) return tcpFaults(tcp, place, exists);
  if (uds === null) {
    return protocol === "GRPC"
      ? [required(place.child("uds"), "UDS must be set with GRPC")]
      : [required(place.child("tcp"), "One of TCP or UDS must be set")];
  }
  if ((uds.udsName ?? "") !== "") return [];
  return [invalid(place.child("udsName"), "nil", "must be present for UDS connections")];
}

function tcpFaults(
  { url = "", tlsConfig = null }: NonNullable<EgressTransport["tcp"]>,
  place: Path,
  exists: FileExists,
): readonly FieldError[] {
  if (url.startsWith("https://")) return tlsFaults(tlsConfig, place, exists);
  if (!url.startsWith("http://")) {
    const why = "supported connection protocols are http:// and https://";
    return [invalid(place.child("url"), url, why)];
  }
  if (tlsConfig === null) return [];
  return [invalid(place.child("tlsConfig"), "nil", "config must not be present when using HTTP")];
}

function tlsFaults(
  files: EgressTlsFiles | null,
  place: Path,
  exists: FileExists,
): readonly FieldError[] {
  const at = place.child("tlsConfig");
  if (files === null) return [required(at, "TLSConfig must be present when using HTTPS")];
  const { caBundle = "", clientCert = "", clientKey = "" } = files;
  const faultOf = (
    name: string,
    file: string,
    ifEmpty: string | undefined,
    ifMissing: string,
  ): readonly FieldError[] => {
    if (file === "") return ifEmpty === undefined ? [] : [invalid(at.child(name), "nil", ifEmpty)];
    return exists(file) ? [] : [invalid(at.child(name), file, ifMissing)];
  };
  const needs = "Using TLS requires";
  return [
    ...faultOf("caBundle", caBundle, undefined, "TLS config ca bundle does not exist"),
    ...faultOf("clientCert", clientCert, `${needs} clientCert`, "TLS client cert does not exist"),
    // "requires requires" is upstream's.
    ...faultOf(
      "clientKey",
      clientKey,
      `${needs} requires clientKey`,
      "TLS client key does not exist",
    ),
  ];
}
