/** `k8ts dns`: the DNS server of a cluster alone, against any API server of version 1.36. */
import { readFileSync } from "node:fs";
import { Command as Parser } from "commander";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import type { Connection } from "#client/kubeconfig.ts";
import { RequestMetrics } from "#client/request-metrics.ts";
import type { DnsConfig } from "#dns/config/dns-config.ts";
import { readConfig } from "#dns/config/read-config.ts";
import type { FollowedConfigMap } from "#dns/follow-corefile.ts";
import {
  nameServersIn,
  parseUpstream,
  UPSTREAMS_MAX,
  type Upstream,
} from "#dns/forward/resolv-conf.ts";
import { CLUSTER_DOMAIN, type DnsOptions, runDns } from "#dns/run-dns.ts";
import { messageOf } from "#lib/caught.ts";
import { collectWhenIdle, ownHeap } from "#lib/idle-gc.ts";
import { Metrics } from "#lib/metrics.ts";
import { releaseProgramPages } from "#lib/native/release-program-pages.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { connectionOf } from "../flags/connection-flags.ts";
import { address, collect } from "../flags/flag-values.ts";
import { addLogFlags, type LogFlags, logFlagsOf } from "../flags/log-flags.ts";
import { addVersionFlag, FlagError, parseFlags } from "../flags/parse-flags.ts";
import { type Flags, textOf } from "../flags/read-flags.ts";
import { type StatusPorts, startStatusServers } from "./status-server.ts";

interface Config extends Pick<DnsOptions, "port"> {
  readonly log: LogFlags;
  readonly connection: Connection;
  readonly addresses: readonly string[];
  readonly clusterDomain: string;
  readonly ttlSeconds: number;
  readonly upstreams: readonly Upstream[];
  readonly config?: DnsConfig;
  readonly configMap?: FollowedConfigMap;
  readonly status: StatusPorts;
}

const USER_AGENT = "k8ts-dns";
/** A collection that frees less is not worth its time. */
const GAIN_BYTES_MIN = 1024 * 1024;
/** As CoreDNS refuses longer ones. */
const TTL_SECONDS_MAX = 3600;

export const dnsCommand: Command = {
  name: "dns",
  summary: "run the DNS server",
  run: async (args, signal) => {
    const [sub, ...rest] = args;
    if (sub === "manifest") {
      // Kinds and the maker of images are loaded only here.
      const { printDnsManifest } = await import("./print-dns-manifest.ts");
      return printDnsManifest(rest, signal);
    }
    const parsed = parseFlags(dnsFlags(), args, configOf);
    if ("exitCode" in parsed) return parsed.exitCode;
    const { log, connection, status, ...config } = parsed.config;
    const { clock, random, logger } = processSurroundings(log);
    const heap = ownHeap({ trimNative: true, withBuffers: true });
    collectWhenIdle(clock, heap, signal, {
      gainBytesMin: GAIN_BYTES_MIN,
      onRest: releaseProgramPages,
    });
    const metrics = new Metrics();
    const requests = new RequestMetrics(metrics, clock);
    const observed = requests.to(new URL(connection.server).host);
    using transport = new HttpsTransport(connection, USER_AGENT, observed);
    const client = new Client({ transport, clock, random, fieldManager: USER_AGENT });
    const readFile = (path: string): string => readFileSync(path, "utf8");
    const dns = runDns({ ...config, readFile, client, clock, random, logger, metrics }, signal);
    await dns.listening;
    await startStatusServers(status, { metrics, isReady: dns.isReady }, signal);
    await dns.done;
    return 0;
  },
};

function dnsFlags(): Parser {
  return addLogFlags(addVersionFlag(new Parser("k8ts dns")))
    .description(
      "Serves the names of Services, endpoints and pods, and forwards other names. `k8ts dns manifest` prints it as a Deployment.",
    )
    .option("--kubeconfig <file>", "how to reach the API server; inside a pod its service account")
    .option("--master <url>", "the API server, if not the one of the kubeconfig")
    .option("--cluster-domain <domain>", "the domain of the cluster's names", CLUSTER_DOMAIN)
    .option(
      "--listen <ip>",
      "where to serve; may come several times (default 0.0.0.0)",
      listenAddress,
      [],
    )
    .option("--port <port>", "of UDP and TCP", "53")
    .option("--ttl <seconds>", "of the cluster's records", "5")
    .option(
      "--upstream <server>",
      "an address, ADDRESS:PORT, or a file such as /etc/resolv.conf: servers for other names, which are refused without any; may come several times",
      collect,
      [],
    )
    .option("--conf <file>", "a Corefile; takes the place of --upstream")
    .option("--config-map <namespace/name>", "a ConfigMap with the key Corefile, which is followed")
    .option("--metrics-port <port>", "serves /metrics over HTTP; 0 for none", "9153")
    .option("--health-port <port>", "serves /health over HTTP, usually 8080; 0 for none", "0")
    .option("--ready-port <port>", "serves /ready over HTTP, usually 8181; 0 for none", "0");
}

function listenAddress(value: string, before: readonly string[]): string[] {
  return [...before, address(value)];
}

function configOf(flags: Flags): Config {
  const text = (name: string): string => textOf(flags, name) ?? "";
  const listen = flags.listen as readonly string[];
  const addresses = listen.length === 0 ? ["0.0.0.0"] : listen;
  const port = portFrom(flags, "port");
  const upstreams = (flags.upstream as readonly string[]).flatMap(upstreamsOf);
  if (upstreams.length > UPSTREAMS_MAX) {
    throw new FlagError(
      `--upstream: more than ${UPSTREAMS_MAX} TOs configured: ${upstreams.length}`,
    );
  }
  const own = upstreams.find((each) => each.port === port && addresses.includes(each.address));
  if (own !== undefined) throw new FlagError(`--upstream: ${own.address} is this server itself`);
  return {
    log: logFlagsOf({ v: Number(flags.v), loggingFormat: text("logging-format") }),
    connection: connectionOf(text("kubeconfig"), text("master")),
    addresses,
    port,
    clusterDomain: domainOf(text("cluster-domain")),
    ttlSeconds: ttlOf(text("ttl")),
    upstreams,
    ...corefileOf(text("conf"), domainOf(text("cluster-domain"))),
    ...configMapOf(text("config-map")),
    status: {
      addresses,
      metricsPort: portFrom(flags, "metrics-port"),
      healthPort: portFrom(flags, "health-port"),
      readyPort: portFrom(flags, "ready-port"),
    },
  };
}

function corefileOf(path: string, clusterDomain: string): Pick<Config, "config"> {
  if (path === "") return {};
  const readFile = (name: string): string => readFileSync(name, "utf8");
  try {
    return { config: readConfig(readFile(path), { clusterDomain, readFile }) };
  } catch (error) {
    throw new FlagError(`--conf: ${messageOf(error)}`);
  }
}

function configMapOf(text: string): Pick<Config, "configMap"> {
  if (text === "") return {};
  const [namespace = "", name = "", ...more] = text.split("/");
  if (namespace !== "" && name !== "" && more.length === 0)
    return { configMap: { namespace, name } };
  throw new FlagError(`--config-map: ${JSON.stringify(text)} is not NAMESPACE/NAME`);
}

function upstreamsOf(text: string): readonly Upstream[] {
  const upstream = parseUpstream(text);
  if (upstream !== undefined) return [upstream];
  if (!text.includes("/"))
    throw new FlagError(`--upstream: not an IP address or file: ${JSON.stringify(text)}`);
  try {
    return nameServersIn(readFileSync(text, "utf8"));
  } catch (error) {
    throw new FlagError(`--upstream: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function domainOf(text: string): string {
  const domain = text.toLowerCase().replace(/\.$/, "");
  const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
  if (domain.length <= 200 && domain.split(".").every((part) => label.test(part))) return domain;
  throw new FlagError(`--cluster-domain: ${JSON.stringify(text)} is no domain name`);
}

function ttlOf(text: string): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= 0 && seconds <= TTL_SECONDS_MAX) return seconds;
  throw new FlagError(`--ttl: ttl must be in range [0, ${TTL_SECONDS_MAX}]: ${text}`);
}

function portFrom(flags: Flags, flag: string): number {
  const port = Number(textOf(flags, flag));
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new FlagError(`--${flag}: ${textOf(flags, flag)} is no port`);
}
