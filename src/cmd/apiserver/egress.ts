/** How the API server reaches cluster, control plane and etcd: directly, or through tunnels that a file names. */
import { existsSync, readFileSync } from "node:fs";
import {
  type EgressName,
  type EgressProxy,
  parseEgressConfig,
} from "#apiserver/config/egress-config.ts";
import type { EgressTlsFiles } from "#apiserver/config/egress-transport.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { ClientTls } from "#tunnel/channel-credentials.ts";
import { createEgressDialer, type EgressDialer, type EgressServer } from "#tunnel/egress-dialer.ts";

/** What is missing is reached directly. */
export type EgressDialers = Readonly<Partial<Record<EgressName, EgressDialer>>>;

export function egressDialers(file: string | undefined): EgressDialers {
  if (file === undefined) return {};
  const proxies = Object.entries(parseEgressConfig(readFileSync(file, "utf8"), existsSync));
  return Object.fromEntries(
    proxies.map(([name, proxy]) => [
      name,
      createEgressDialer(serverOf(proxy), systemClock, systemRandom),
    ]),
  );
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
