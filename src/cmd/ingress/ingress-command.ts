/** `k8ts ingress`: the Ingress controller alone, against any API server of version 1.36. */
import { Command as Parser } from "commander";
import { parseIp } from "#api/validation/ip.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import type { Connection } from "#client/kubeconfig.ts";
import { RequestMetrics } from "#client/request-metrics.ts";
import type { AccessEntry } from "#ingress/data-plane/data-plane.ts";
import type { DataPlaneName } from "#ingress/data-plane-name.ts";
import type { PublishedAddress } from "#ingress/follow-cluster.ts";
import { runIngress } from "#ingress/run-ingress.ts";
import { Metrics } from "#lib/metrics.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { servingCertificate } from "../component/serving-certificate.ts";
import { startStatusServers } from "../dns/status-server.ts";
import { connectionOf } from "../flags/connection-flags.ts";
import { address, collect } from "../flags/flag-values.ts";
import { addLogFlags, type LogFlags, logFlagsOf } from "../flags/log-flags.ts";
import { addVersionFlag, FlagError, parseFlags } from "../flags/parse-flags.ts";
import { countOf, type Flags, textOf } from "../flags/read-flags.ts";
import { dataPlaneOf } from "./data-plane-flag.ts";

interface Config {
  readonly log: LogFlags;
  readonly connection: Connection;
  readonly addresses: readonly string[];
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly publicPorts: { readonly http: number; readonly https: number } | undefined;
  readonly metricsPort: number;
  readonly publish: PublishedAddress;
  readonly accessLog: boolean;
  readonly trusted: ReadonlySet<string>;
  readonly connectionsMax: number;
  readonly dataPlane: DataPlaneName;
}

const USER_AGENT = "k8ts-ingress";
/** Lines of the access log are dropped while this much waits to be written. */
const ACCESS_LOG_BYTES_MAX = 1024 * 1024;
const CONNECTIONS_MAX = 1_000_000;

export const ingressCommand: Command = {
  name: "ingress",
  summary: "run the Ingress controller",
  run: async (args, signal) => {
    const parsed = parseFlags(ingressFlags(), args, configOf);
    if ("exitCode" in parsed) return parsed.exitCode;
    const { config } = parsed;
    const { clock, random, logger } = processSurroundings(config.log);
    const metrics = new Metrics();
    const requests = new RequestMetrics(metrics, clock);
    const observed = requests.to(new URL(config.connection.server).host);
    using transport = new HttpsTransport(config.connection, USER_AGENT, observed);
    const client = new Client({ transport, clock, random, fieldManager: USER_AGENT });
    const { addresses, httpPort, httpsPort, publish, publicPorts } = config;
    const ingress = runIngress(
      {
        ...{ client, clock, random, logger, metrics, addresses, httpPort, httpsPort, publish },
        ...(publicPorts === undefined ? {} : { publicPorts }),
        ...(config.accessLog ? { onAccess: writeAccess } : {}),
        defaultCertificate: servingCertificate({ certFile: "", keyFile: "" }, USER_AGENT, clock),
        limits: { connectionsMax: config.connectionsMax },
        ...{ dataPlane: config.dataPlane, accessLog: config.accessLog },
        isTrusted: (each) => config.trusted.has(each),
      },
      signal,
    );
    await ingress.listening;
    const { metricsPort } = config;
    const ports = { addresses, metricsPort, healthPort: 0, readyPort: 0 };
    await startStatusServers(ports, { metrics, isReady: ingress.isReady }, signal);
    await ingress.done;
    return 0;
  },
};

/** One line of JSON for each request. */
function writeAccess({ timeMs, ...entry }: AccessEntry): void {
  if (process.stdout.writableLength > ACCESS_LOG_BYTES_MAX) return;
  const line = { time: new Date(timeMs).toISOString(), ...entry };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function ingressFlags(): Parser {
  return addLogFlags(addVersionFlag(new Parser("k8ts ingress")))
    .description("Serves Ingresses of classes whose controller is k8ts.io/ingress.")
    .option("--kubeconfig <file>", "how to reach the API server; inside a pod its service account")
    .option("--master <url>", "the API server, if not the one of the kubeconfig")
    .option(
      "--listen <ip>",
      "where to serve; may come several times (default 0.0.0.0)",
      (value: string, before: string[]) => [...before, address(value)],
      [],
    )
    .option("--http-port <port>", "of HTTP", "80")
    .option("--https-port <port>", "of HTTPS", "443")
    .option("--public-https-port <port>", "the HTTPS port that clients see, for redirects")
    .option("--metrics-port <port>", "of /metrics; 0: none", "10254")
    .option("--publish-service <namespace/name>", "its address is the status of Ingresses")
    .option("--publish-status-address <addresses>", "the status of Ingresses", collect, [])
    .option("--trusted-proxy <ip>", "believe X-Forwarded-* of this client", collect, [])
    .option("--max-connections <count>", "of clients at a time", "10000")
    .option("--data-plane <name>", "built-in, or nginx for heavy traffic", "built-in")
    .option("--access-log", "write a line of JSON for each request", true)
    .option("--no-access-log", "write none");
}

function configOf(flags: Flags): Config {
  const text = (name: string): string => textOf(flags, name) ?? "";
  const listen = flags.listen as readonly string[];
  const publicHttps = text("public-https-port");
  return {
    log: logFlagsOf({ v: Number(flags.v), loggingFormat: text("logging-format") }),
    connection: connectionOf(text("kubeconfig"), text("master")),
    addresses: listen.length === 0 ? ["0.0.0.0"] : listen,
    httpPort: portFrom(flags, "http-port"),
    httpsPort: portFrom(flags, "https-port"),
    publicPorts:
      publicHttps === "" ? undefined : { http: 80, https: portFrom(flags, "public-https-port") },
    metricsPort: portFrom(flags, "metrics-port"),
    publish: publishOf(text("publish-service"), flags.publishStatusAddress as readonly string[]),
    accessLog: flags.accessLog === true,
    trusted: new Set((flags.trustedProxy as readonly string[]).map(address)),
    dataPlane: dataPlaneOf("--data-plane", text("data-plane")),
    connectionsMax: countOf(flags, "max-connections", CONNECTIONS_MAX),
  };
}

function publishOf(service: string, addresses: readonly string[]): PublishedAddress {
  if (service === "") {
    return {
      addresses: addresses.map((each) =>
        parseIp(each) === undefined ? { hostname: each } : { ip: each },
      ),
    };
  }
  if (/^[^/]+\/[^/]+$/.test(service)) return { service };
  throw new FlagError(`--publish-service: ${JSON.stringify(service)} is not NAMESPACE/NAME`);
}

function portFrom(flags: Flags, flag: string): number {
  const port = Number(textOf(flags, flag));
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new FlagError(`--${flag}: ${textOf(flags, flag)} is no port`);
}
