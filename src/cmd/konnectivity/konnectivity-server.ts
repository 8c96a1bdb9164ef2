/** `k8ts konnectivity-server`: agents connect to it, and API servers reach nodes through them. */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Command as Parser } from "commander";
import type { TokenReview } from "#api/generated/authentication.v1.ts";
import { tokenReviewKind } from "#api/kinds/authentication/v1/reviews.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import type { Connection } from "#client/kubeconfig.ts";
import { onAbort, untilAborted } from "#lib/async/aborted.ts";
import { limitServer } from "#lib/http/limit-server.ts";
import { type Place, runTunnelServer, type TlsFiles } from "#tunnel/run-server.ts";
import { STRATEGIES, type Strategy, TunnelServer } from "#tunnel/tunnel-server.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { connectionOf } from "../flags/connection-flags.ts";
import { addLogFlags, type LogFlags, logFlagsOf } from "../flags/log-flags.ts";
import { addVersionFlag, FlagError, parseFlags } from "../flags/parse-flags.ts";
import { countOf, type Flags, numberOf, textOf } from "../flags/read-flags.ts";

const SERVERS_MAX = 1_000;
const USER_AGENT = "konnectivity-server";

interface Config {
  readonly log: LogFlags;
  readonly id: string | undefined;
  readonly count: number;
  readonly strategies: readonly Strategy[];
  readonly agents: Place;
  readonly mode: "grpc" | "http-connect";
  readonly frontends: Place;
  readonly health: { readonly host: string; readonly port: number };
  readonly authentication: AgentAccount | undefined;
}

/** Whose tokens agents have to show. */
interface AgentAccount {
  readonly user: string;
  readonly audience: string;
  readonly connection: Connection;
}

export const konnectivityServerCommand: Command = {
  name: "konnectivity-server",
  summary: "run the server of tunnels to nodes",
  flags: () => serverFlags().options,
  run: async (args, signal) => {
    const parsed = parseFlags(serverFlags(), args, configOf);
    if ("exitCode" in parsed) return parsed.exitCode;
    const { agents, mode, frontends, count, authentication, strategies, health } = parsed.config;
    const { clock, random, logger } = processSurroundings(parsed.config.log);
    const server = new TunnelServer(random, strategies);
    using transport =
      authentication === undefined
        ? undefined
        : new HttpsTransport(authentication.connection, USER_AGENT);
    const client =
      transport === undefined
        ? undefined
        : new Client({ transport, clock, random, fieldManager: USER_AGENT });
    const ports = await runTunnelServer(
      {
        ...{ server, count, agents, logger, frontends: { mode, at: frontends } },
        id: parsed.config.id ?? random.uuid(),
        ...(authentication === undefined || client === undefined
          ? {}
          : { authenticate: (token: string) => checkToken(client, authentication, token) }),
      },
      signal,
    );
    await serveHealth(health, () => server.agents.length > 0, signal);
    logger.info("tunnels are served", { mode, ...ports });
    await untilAborted(signal);
    return 0;
  },
};

function serverFlags(): Parser {
  return addLogFlags(addVersionFlag(new Parser("k8ts konnectivity-server")))
    .option("--mode <mode>", "how API servers ask: grpc or http-connect", "grpc")
    .option("--uds-name <path>", "a unix socket for API servers, instead of a port")
    .option("--server-port <port>", "for API servers; 0 with --uds-name", "8090")
    .option("--server-bind-address <ip>", "where they connect to", "::")
    .option("--server-cert <file>", "to serve API servers with")
    .option("--server-key <file>", "its key")
    .option("--server-ca-cert <file>", "the authority of API servers' certificates")
    .option("--agent-port <port>", "for agents", "8091")
    .option("--agent-bind-address <ip>", "where they connect to", "::")
    .option("--cluster-cert <file>", "to serve agents with")
    .option("--cluster-key <file>", "its key")
    .option("--cluster-ca-cert <file>", "the authority of agents' certificates")
    .option("--agent-namespace <name>", "of the service account that agents show a token of")
    .option("--agent-service-account <name>", "that service account")
    .option("--authentication-audience <name>", "of its tokens")
    .option("--kubeconfig <file>", "the API server that is asked about tokens")
    .option("--health-port <port>", "of /healthz and /readyz", "8092")
    .option("--health-bind-address <ip>", "where they are served", "::")
    .option("--server-id <id>", "of this server; random unless given")
    .option("--server-count <number>", "of servers behind the address that agents know", "1")
    .option("--proxy-strategies <names>", STRATEGIES.join(", "), "default");
}

function configOf(flags: Flags): Config {
  const text = (name: string): string => textOf(flags, name) ?? "";
  const mode = text("mode");
  if (mode !== "grpc" && mode !== "http-connect") {
    throw new FlagError('mode must be set to either "grpc" or "http-connect"');
  }
  const path = text("uds-name");
  const strategies = text("proxy-strategies").split(",");
  for (const name of strategies) {
    if (!(STRATEGIES as readonly string[]).includes(name)) {
      throw new FlagError(`--proxy-strategies: unknown strategy "${name}"`);
    }
  }
  const place = (part: "server" | "agent", pair: string): Place => ({
    host: text(`${part}-bind-address`),
    port: portOf(flags, `${part}-port`),
    tls: tlsOf(text(`${pair}-cert`), text(`${pair}-key`), text(`${pair}-ca-cert`)),
  });
  return {
    log: logFlagsOf({ v: Number(flags.v ?? 0), loggingFormat: text("logging-format") }),
    id: textOf(flags, "server-id") ?? process.env.PROXY_SERVER_ID,
    count: countOf(flags, "server-count", SERVERS_MAX),
    strategies: strategies as Strategy[],
    agents: place("agent", "cluster"),
    mode,
    frontends: path === "" ? place("server", "server") : { path },
    health: { host: text("health-bind-address"), port: portOf(flags, "health-port") },
    authentication: accountOf(flags),
  };
}

function portOf(flags: Flags, name: string): number {
  const port = numberOf(flags, name);
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
  throw new FlagError(`--${name}: ${port} is no port`);
}

function tlsOf(cert: string, key: string, ca: string): TlsFiles | undefined {
  if (cert === "" && key === "") return undefined;
  const read = (file: string): string => readFileSync(file, "utf8");
  return { cert: read(cert), key: read(key), ca: ca === "" ? undefined : read(ca) };
}

function accountOf(flags: Flags): AgentAccount | undefined {
  const namespace = textOf(flags, "agent-namespace");
  const name = textOf(flags, "agent-service-account");
  if (namespace === undefined && name === undefined) return undefined;
  if (namespace === undefined || name === undefined) {
    throw new FlagError("--agent-namespace and --agent-service-account need each other");
  }
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    audience: textOf(flags, "authentication-audience") ?? "",
    connection: connectionOf(textOf(flags, "kubeconfig") ?? "", ""),
  };
}

async function checkToken(
  client: Client,
  { user, audience }: AgentAccount,
  token: string,
): Promise<void> {
  const review = await client.ask(tokenReviewKind, {
    apiVersion: tokenReviewKind.apiVersion,
    kind: "TokenReview",
    metadata: {},
    spec: { token, ...(audience === "" ? {} : { audiences: [audience] }) },
  } as unknown as TokenReview);
  if (!review.ok) throw new Error(`Failed to authenticate request. err:${review.status.message}`);
  const { status } = review.value;
  if (status?.authenticated !== true) {
    throw new Error("lookup failed: service account jwt not valid");
  }
  if (status.user?.username !== user) {
    throw new Error(
      `lookup failed: incoming request from "${status.user?.username}". Expected "${user}"`,
    );
  }
}

/** /healthz says that it lives, /readyz that there is a way to nodes. */
export async function serveHealth(
  { host, port }: Config["health"],
  isReady: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  const server = createServer((request, reply) => {
    const isFine = request.url === "/healthz" || (request.url === "/readyz" && isReady());
    reply.writeHead(isFine ? 200 : request.url === "/readyz" ? 500 : 404);
    reply.end(isFine ? "ok" : "not ready");
  });
  limitServer(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  onAbort(signal, () => {
    server.close();
    server.closeAllConnections();
  });
}
