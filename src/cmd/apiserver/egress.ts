/** How the API server reaches the cluster: directly, or through the tunnel that a file names. */
import { readFileSync } from "node:fs";
import {
  type EgressProxy,
  type EgressTlsFiles,
  parseEgressConfig,
} from "#apiserver/config/egress-config.ts";
import type { ConnectStream } from "#apiserver/proxy/connect-stream.ts";
import type { ClientTls } from "#tunnel/channel-credentials.ts";
import { createEgressDialer, type EgressServer } from "#tunnel/egress-dialer.ts";

/** Undefined: directly. */
export function egressConnect(file: string | undefined): ConnectStream | undefined {
  if (file === undefined) return undefined;
  const proxy = parseEgressConfig(readFileSync(file, "utf8"));
  return proxy === undefined ? undefined : createEgressDialer(serverOf(proxy));
}

function serverOf(proxy: EgressProxy): EgressServer {
  if ("path" in proxy) return { protocol: proxy.protocol, path: proxy.path };
  const { host, port, tls: files } = proxy;
  const tls = files === undefined ? {} : { tls: () => tlsOf(files) };
  return { protocol: proxy.protocol, host, port, ...tls };
}

function tlsOf({ caBundle, clientCert, clientKey, tlsServerName }: EgressTlsFiles): ClientTls {
  const text = (file: string | undefined): string | undefined =>
    file === undefined || file === "" ? undefined : readFileSync(file, "utf8");
  return {
    ca: text(caBundle),
    cert: text(clientCert),
    key: text(clientKey),
    serverName: tlsServerName,
  };
}
