/** `k8ts konnectivity-agent`: on the side of the nodes; it dials out to the servers of tunnels. */
import { readFileSync } from "node:fs";
import { Command as Parser } from "commander";
import { Metrics } from "#lib/metrics.ts";
import { parseAgentIdentifiers } from "#tunnel/agent-identifiers.ts";
import { channelCredentials } from "#tunnel/channel-credentials.ts";
import { runTunnelAgent } from "#tunnel/run-agent.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import {
  addAcceptedFlags,
  flagsWithoutEffect,
  refuseOtherValues,
  reportWithoutEffect,
} from "../flags/accepted-flags.ts";
import { addLogFlags, logFlagsOf } from "../flags/log-flags.ts";
import { addVersionFlag, FlagError, parseFlags } from "../flags/parse-flags.ts";
import { durationOf, type Flags, isOn, numberOf, textOf } from "../flags/read-flags.ts";
import { checkFile, checkPair } from "./check-files.ts";
import { serveStatus } from "./serve-status.ts";
import { UPSTREAM_AGENT_FLAGS } from "./upstream-flags.ts";

export const konnectivityAgentCommand: Command = {
  name: "konnectivity-agent",
  summary: "run the agent of tunnels to nodes",
  flags: () => agentFlags().options,
  run: async (args, signal) => {
    const parsed = parseFlags(agentFlags(), args, agentConfigOf);
    if ("exitCode" in parsed) return parsed.exitCode;
    const { config } = parsed;
    const { clock, random, logger } = processSurroundings(config.log);
    reportWithoutEffect(config.withoutEffect, logger);
    let streams = 0;
    const metrics = new Metrics();
    metrics.gaugeOf(OPEN_STREAMS, () => streams);
    const ended = new AbortController();
    await serveStatus(config.health, { isReady: () => streams > 0, metrics }, ended.signal);
    await serveStatus(config.admin, { metrics }, ended.signal);
    const { tokenFile } = config;
    await runTunnelAgent(
      {
        ...config.servers,
        ...(await config.channel()),
        ...{ clock, logger },
        id: config.id ?? random.uuid(),
        identifiers: config.identifiers,
        ...(tokenFile === undefined ? {} : { token: () => readFileSync(tokenFile, "utf8").trim() }),
        onStreams: (count) => {
          streams = count;
        },
      },
      ended.signal,
      signal, // a second signal of the system ends the process
    );
    ended.abort();
    return 0;
  },
};

const OPEN_STREAMS = {
  name: "konnectivity_network_proxy_agent_open_server_connections",
  help: "Current number of open server connections.",
};

export function agentFlags(): Parser {
  const parser = addLogFlags(addVersionFlag(new Parser("k8ts konnectivity-agent")))
    .option("--proxy-server-host <host>", "of the servers", "127.0.0.1")
    .option("--proxy-server-port <port>", "of the servers, for agents", "8091")
    .option("--ca-cert <file>", "the authority of the servers' certificates; no TLS without")
    .option("--agent-cert <file>", "to show to the servers")
    .option("--agent-key <file>", "its key")
    .option("--agent-id <id>", "of this agent; random unless given")
    .option("--agent-identifiers <list>", "what it can reach: host=node1&ipv4=10.0.0.1", "")
    .option("--service-account-token-path <file>", "a token to show to the servers")
    .option("--sync-interval <duration>", "after which a server is dialled again", "1s")
    .option("--sync-interval-cap <duration>", "the longest such time", "10s")
    .option(
      "--sync-forever [bool]",
      "look for more servers, too, when all that the last one knew of are connected",
      "false",
    )
    .option("--keepalive-time <duration>", "how often idle servers are checked", "1m")
    .option("--health-server-host <host>", "where /healthz and /readyz are served", "::")
    .option("--health-server-port <port>", "their port", "8093")
    .option("--admin-bind-address <host>", "where /metrics is served for this machine", "127.0.0.1")
    .option("--admin-server-port <port>", "its port", "8094");
  return addAcceptedFlags(parser, UPSTREAM_AGENT_FLAGS);
}

export function agentConfigOf(flags: Flags) {
  const text = (name: string): string => textOf(flags, name) ?? "";
  const host = text("proxy-server-host");
  refuseOtherValues(UPSTREAM_AGENT_FLAGS, flags);
  checkAgent(flags);
  const target = `${host.includes(":") ? `[${host}]` : host}:${numberOf(flags, "proxy-server-port")}`;
  return {
    log: logFlagsOf({ v: Number(flags.v ?? 0), loggingFormat: text("logging-format") }),
    id: textOf(flags, "agent-id") ?? process.env.PROXY_AGENT_ID,
    identifiers: text("agent-identifiers"),
    tokenFile: textOf(flags, "service-account-token-path"),
    health: { host: text("health-server-host"), port: numberOf(flags, "health-server-port") },
    admin: { host: text("admin-bind-address"), port: numberOf(flags, "admin-server-port") },
    channel: () => credentialsOf(host, text("ca-cert"), text("agent-cert"), text("agent-key")),
    servers: {
      target,
      keepaliveMs: durationOf(flags, "keepalive-time"),
      retryMinMs: durationOf(flags, "sync-interval"),
      retryMaxMs: durationOf(flags, "sync-interval-cap"),
      syncForever: isOn(flags, "sync-forever"),
    },
    withoutEffect: flagsWithoutEffect(UPSTREAM_AGENT_FLAGS, flags),
  };
}

/** Throws FlagError for the first rule that is broken, with upstream's messages. */
function checkAgent(flags: Flags): void {
  const text = (name: string): string => textOf(flags, name) ?? "";
  checkPair("agent", text("agent-cert"), text("agent-key"));
  checkFile("agent CA cert", text("ca-cert"));
  for (const kind of ["proxy-server", "health-server", "admin-server"]) {
    const port = numberOf(flags, `${kind}-port`);
    if (port > 0) continue;
    throw new FlagError(`${kind.replace("-", " ")} port ${port} must be greater than 0`);
  }
  const [interval, cap] = ["sync-interval", "sync-interval-cap"].map((name) =>
    durationOf(flags, name),
  );
  if (interval! > cap!) {
    throw new FlagError(
      `sync interval ${text("sync-interval")} must be less than sync interval cap ${text("sync-interval-cap")}`,
    );
  }
  checkFile("service account token path", text("service-account-token-path"));
  if (text("service-account-token-path") !== "" && text("ca-cert") === "") {
    throw new FlagError("--service-account-token-path needs --ca-cert: a token needs TLS");
  }
  const { unknown } = parseAgentIdentifiers(text("agent-identifiers"));
  if (unknown === undefined) return;
  throw new FlagError(`agent address is invalid: unknown address type: ${unknown}`);
}

async function credentialsOf(host: string, ca: string, cert: string, key: string) {
  const { credentials } = await import("#lib/grpc/grpc-library.ts");
  if (ca === "" && cert === "") return { credentials: credentials.createInsecure() };
  const read = (file: string): string | undefined =>
    file === "" ? undefined : readFileSync(file, "utf8");
  const made = await channelCredentials(host, { ca: read(ca), cert: read(cert), key: read(key) });
  return { credentials: made.credentials, channelOptions: made.options };
}
