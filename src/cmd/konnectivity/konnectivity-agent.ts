/** `k8ts konnectivity-agent`: on the side of the nodes; it dials out to the servers of tunnels. */
import { readFileSync } from "node:fs";
import { credentials } from "@grpc/grpc-js";
import { Command as Parser } from "commander";
import { channelCredentials } from "#tunnel/channel-credentials.ts";
import { runTunnelAgent } from "#tunnel/run-agent.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { addLogFlags, logFlagsOf } from "../flags/log-flags.ts";
import { addVersionFlag, FlagError, parseFlags } from "../flags/parse-flags.ts";
import { durationOf, type Flags, numberOf, textOf } from "../flags/read-flags.ts";
import { serveHealth } from "./konnectivity-server.ts";

export const konnectivityAgentCommand: Command = {
  name: "konnectivity-agent",
  summary: "run the agent of tunnels to nodes",
  flags: () => agentFlags().options,
  run: async (args, signal) => {
    const parsed = parseFlags(agentFlags(), args, configOf);
    if ("exitCode" in parsed) return parsed.exitCode;
    const { config } = parsed;
    const { clock, random, logger } = processSurroundings(config.log);
    let streams = 0;
    await serveHealth(config.health, () => streams > 0, signal);
    const { tokenFile } = config;
    await runTunnelAgent(
      {
        ...config.servers,
        ...{ clock, logger },
        id: config.id ?? random.uuid(),
        identifiers: config.identifiers,
        ...(tokenFile === undefined ? {} : { token: () => readFileSync(tokenFile, "utf8").trim() }),
        onStreams: (count) => {
          streams = count;
        },
      },
      signal,
    );
    return 0;
  },
};

function agentFlags(): Parser {
  return addLogFlags(addVersionFlag(new Parser("k8ts konnectivity-agent")))
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
    .option("--health-server-host <host>", "where /healthz and /readyz are served", "::")
    .option("--health-server-port <port>", "their port", "8093");
}

function configOf(flags: Flags) {
  const text = (name: string): string => textOf(flags, name) ?? "";
  const host = text("proxy-server-host");
  const target = `${host.includes(":") ? `[${host}]` : host}:${numberOf(flags, "proxy-server-port")}`;
  return {
    log: logFlagsOf({ v: Number(flags.v ?? 0), loggingFormat: text("logging-format") }),
    id: textOf(flags, "agent-id") ?? process.env.PROXY_AGENT_ID,
    identifiers: text("agent-identifiers"),
    tokenFile: textOf(flags, "service-account-token-path"),
    health: { host: text("health-server-host"), port: numberOf(flags, "health-server-port") },
    servers: {
      target,
      ...credentialsOf(host, text("ca-cert"), text("agent-cert"), text("agent-key")),
      retryMinMs: durationOf(flags, "sync-interval"),
      retryMaxMs: durationOf(flags, "sync-interval-cap"),
    },
  };
}

function credentialsOf(host: string, ca: string, cert: string, key: string) {
  if (ca === "" && cert === "") return { credentials: credentials.createInsecure() };
  if ((cert === "") !== (key === "")) {
    throw new FlagError("--agent-cert and --agent-key need each other");
  }
  const read = (file: string): string | undefined =>
    file === "" ? undefined : readFileSync(file, "utf8");
  const made = channelCredentials(host, { ca: read(ca), cert: read(cert), key: read(key) });
  return { credentials: made.credentials, channelOptions: made.options };
}
