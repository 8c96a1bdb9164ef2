/** Why a server could not be reached, in upstream's words: people and programs look for them. */
import { isIP } from "node:net";
import { codeOf } from "#lib/caught.ts";
import type { Target } from "./target.ts";

const CONNECT: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connect: connection refused",
  EHOSTUNREACH: "connect: no route to host",
  ENETUNREACH: "connect: network is unreachable",
  ETIMEDOUT: "i/o timeout",
};
const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);
const UNVERIFIED = "tls: failed to verify certificate: x509:";

export function dialFault(error: Error, { host, port }: Pick<Target, "host" | "port">): string {
  const code = codeOf(error) ?? "";
  const place = `dial tcp ${host.includes(":") ? `[${host}]` : host}:${port}`;
  if (Object.hasOwn(CONNECT, code)) return `${place}: ${CONNECT[code]}`;
  if (error.message === "i/o timeout") return `${place}: i/o timeout`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `dial tcp: lookup ${host}: no such host`;
  if (code === "ECONNRESET")
    return error.message === "socket hang up" ? "EOF" : "connection reset by peer";
  if (UNKNOWN_AUTHORITY.has(code)) {
    return `${UNVERIFIED} certificate signed by unknown authority`;
  }
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    return `${UNVERIFIED} certificate has expired or is not yet valid`;
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return `${UNVERIFIED} ${nameFault(error, host)}`;
  return error.message;
}

/** The certificate is another host's. */
function nameFault(error: Error, host: string): string {
  const { cert } = error as { cert?: { subjectaltname?: string } };
  const names = (cert?.subjectaltname ?? "").split(", ").filter((name) => name !== "");
  const wanted = isIP(host) === 0 ? "DNS:" : "IP Address:";
  const valid = names.filter((name) => name.startsWith(wanted));
  if (valid.length === 0) {
    return isIP(host) === 0
      ? `certificate is not valid for any names, but wanted to match ${host}`
      : `cannot validate certificate for ${host} because it doesn't contain any IP SANs`;
  }
  const list = valid.map((name) => name.slice(wanted.length)).join(", ");
  return `certificate is valid for ${list}, not ${host}`;
}
