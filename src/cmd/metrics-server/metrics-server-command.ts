/** `k8ts metrics-server`: the metrics server alone, against any API server, with upstream's flags. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { Command as Parser } from "commander";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import type { Connection } from "#client/kubeconfig.ts";
import { messageOf } from "#lib/caught.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { KubeletAccess, KubeletTls } from "#metrics/scrape/kubelet-fetch.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { servingCertificate } from "../component/serving-certificate.ts";
import { connectionOf, portOf } from "../flags/connection-flags.ts";
import { address, flag, integer, list } from "../flags/flag-values.ts";
import { addLogFlags, type LogFlags, logFlagsOf } from "../flags/log-flags.ts";
import { addVersionFlag, FlagError, parseFlags } from "../flags/parse-flags.ts";
import { durationOf, type Flags, isOn, textOf } from "../flags/read-flags.ts";
import { METRICS_HOST } from "./register-metrics.ts";
import { startMetricsServer } from "./start-metrics-server.ts";

interface Config {
  readonly log: LogFlags;
  readonly connection: Connection;
  readonly kubelets: KubeletAccess;
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string };
  readonly resolutionMs: number;
  readonly nodeSelector: string;
}

const USER_AGENT = "metrics-server";
/** As upstream refuses shorter ones. */
const RESOLUTION_MIN_MS = 10_000;

export const metricsServerCommand: Command = {
  name: "metrics-server",
  summary: "serve metrics.k8s.io: usage of nodes and pods",
  flags: () => metricsFlags().options,
  run: async (args, signal) => {
    const parsed = parseFlags(metricsFlags(), args, configOf);
    if ("exitCode" in parsed) return parsed.exitCode;
    const { log, connection, ...config } = parsed.config;
    const { clock, random, logger } = processSurroundings(log);
    using transport = new HttpsTransport(connection, USER_AGENT);
    const client = new Client({ transport, clock, random, fieldManager: USER_AGENT });
    const server = await startMetricsServer({ ...config, client, clock, random, logger }, signal);
    logger.info("Serving securely", { address: config.host, port: server.port });
    await server.done;
    return 0;
  },
};

function metricsFlags(): Parser {
  return addLogFlags(addVersionFlag(new Parser("k8ts metrics-server")))
    .description("Scrapes the kubelets' /metrics/resource and serves metrics.k8s.io/v1beta1.")
    .option("--kubeconfig <file>", "how to reach the API server; inside a pod its service account")
    .option("--master <url>", "the API server, if not the one of the kubeconfig")
    .option("--bind-address <ip>", "where to serve", address, "0.0.0.0")
    .option("--secure-port <port>", "of HTTPS", "10250")
    .option(
      "--tls-cert-file <file>",
      "certificate to serve with; a self-signed one unless given",
      "",
    )
    .option("--tls-private-key-file <file>", "its key", "")
    .option("--metric-resolution <duration>", "how often kubelets are scraped", "15s")
    .option("--node-selector <selector>", "scrape only nodes with these labels", "")
    .option(
      "--kubelet-preferred-address-types <types>",
      "which address of a node is used, in order of preference",
      list,
      ["InternalIP", "ExternalIP", "Hostname"],
    )
    .option("--kubelet-port <port>", "port of kubelets that do not report one", integer, 10_250)
    .option(
      "--kubelet-use-node-status-port [bool]",
      "use the port that the node reports",
      flag,
      true,
    )
    .option("--kubelet-insecure-tls [bool]", "do not verify kubelets' certificates", flag, false)
    .option("--kubelet-certificate-authority <file>", "authority of kubelets' certificates")
    .option(
      "--kubelet-client-certificate <file>",
      "to show to kubelets; the kubeconfig's unless given",
    )
    .option("--kubelet-client-key <file>", "its key");
}

function configOf(flags: Flags): Config {
  const text = (name: string): string => textOf(flags, name) ?? "";
  const connection = connectionOf(text("kubeconfig"), text("master"));
  const resolutionMs = durationOf(flags, "metric-resolution");
  if (resolutionMs < RESOLUTION_MIN_MS) {
    throw new FlagError(
      `metric-resolution should be a time duration at least 10s, but value ${text("metric-resolution")} provided`,
    );
  }
  const files = { certFile: text("tls-cert-file"), keyFile: text("tls-private-key-file") };
  return {
    log: logFlagsOf({ v: Number(flags.v), loggingFormat: text("logging-format") }),
    connection,
    kubelets: kubeletsOf(flags, connection),
    host: text("bind-address"),
    port: portOf(text("secure-port")),
    tls: servingCertificate(files, hostname(), systemClock, [METRICS_HOST]),
    resolutionMs,
    nodeSelector: text("node-selector"),
  };
}

/** With the credentials of the kubeconfig unless flags name others. */
function kubeletsOf(flags: Flags, connection: Connection): KubeletAccess {
  const file = (name: string): string | undefined => {
    const path = textOf(flags, name);
    return path === undefined ? undefined : readFile(name, path);
  };
  const cert = file("kubelet-client-certificate") ?? connection.clientCertificate;
  const key = file("kubelet-client-key") ?? connection.clientKey;
  const ca = file("kubelet-certificate-authority") ?? connection.ca;
  const verify: KubeletTls["verify"] = isOn(flags, "kubelet-insecure-tls")
    ? "nothing"
    : "chain and name";
  return {
    addressTypes: flags.kubeletPreferredAddressTypes as readonly string[],
    port: Number(flags.kubeletPort),
    useReportedPort: isOn(flags, "kubelet-use-node-status-port"),
    tls: { ca, cert, key, verify },
    token: async () =>
      (await connection.credentials?.get())?.token ?? (await connection.token?.()) ?? undefined,
  };
}

function readFile(name: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new FlagError(`--${name}: ${messageOf(error)}`);
  }
}
