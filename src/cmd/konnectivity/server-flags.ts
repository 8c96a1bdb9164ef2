/** The flags of `k8ts konnectivity-server`: names, defaults, rules and messages of upstream's proxy-server. */
import { existsSync, readFileSync } from "node:fs";
import { Command as Parser } from "commander";
import type { Connection } from "#client/kubeconfig.ts";
import type { Place, TlsFiles } from "#tunnel/run-server.ts";
import { STRATEGIES, type Strategy } from "#tunnel/tunnel-server.ts";
import {
  addAcceptedFlags,
  flagsWithoutEffect,
  refuseOtherValues,
} from "../flags/accepted-flags.ts";
import { connectionOf } from "../flags/connection-flags.ts";
import { addLogFlags, type LogFlags, logFlagsOf } from "../flags/log-flags.ts";
import { addVersionFlag, FlagError } from "../flags/parse-flags.ts";
import { countOf, durationOf, type Flags, isOn, numberOf, textOf } from "../flags/read-flags.ts";
import { checkFile, checkPair } from "./check-files.ts";
import { UPSTREAM_SERVER_FLAGS } from "./upstream-flags.ts";

const SERVERS_MAX = 1_000;
/** Ports beyond are handed out to clients by the system. */
const PORT_MAX = 49_151;
const PORT_MIN = 1_024;

export interface ServerConfig {
  readonly log: LogFlags;
  readonly id: string | undefined;
  readonly count: number;
  readonly strategies: readonly Strategy[];
  readonly agents: Place;
  readonly mode: "grpc" | "http-connect";
  readonly frontends: Place;
  readonly keepaliveMs: { readonly agents: number; readonly frontends: number };
  readonly health: { readonly host: string; readonly port: number };
  readonly admin: { readonly host: string; readonly port: number };
  readonly authentication: AgentAccount | undefined;
  /** Flags that were given and change nothing. */
  readonly withoutEffect: readonly string[];
}

/** Whose tokens agents have to show. */
export interface AgentAccount {
  readonly user: string;
  readonly audience: string;
  readonly connection: Connection;
}

export function serverFlags(): Parser {
  const parser = addLogFlags(addVersionFlag(new Parser("k8ts konnectivity-server")))
    .option("--mode <mode>", "how API servers ask: grpc or http-connect", "grpc")
    .option("--uds-name <path>", "a unix socket for API servers, instead of a port")
    .option("--delete-existing-uds-file [bool]", "replace a file of that name", "true")
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
    .option("--health-port <port>", "of /healthz, /readyz and /metrics", "8092")
    .option("--health-bind-address <ip>", "where they are served", "::")
    .option("--admin-port <port>", "of /metrics for this machine", "8095")
    .option("--admin-bind-address <ip>", "where they are served", "127.0.0.1")
    .option("--keepalive-time <duration>", "how often idle agents are checked", "30s")
    .option("--frontend-keepalive-time <duration>", "the same for API servers with gRPC", "30s")
    .option("--server-id <id>", "of this server; random unless given")
    .option("--server-count <number>", "of servers behind the address that agents know", "1")
    .option("--proxy-strategies <names>", STRATEGIES.join(", "), "default");
  return addAcceptedFlags(parser, UPSTREAM_SERVER_FLAGS);
}

export function serverConfigOf(flags: Flags): ServerConfig {
  const text = (name: string): string => textOf(flags, name) ?? "";
  refuseOtherValues(UPSTREAM_SERVER_FLAGS, flags);
  checkServer(flags);
  const mode = text("mode") === "grpc" ? "grpc" : "http-connect";
  const path = text("uds-name");
  const place = (part: "server" | "agent", pair: string): Place => ({
    host: text(`${part}-bind-address`),
    port: numberOf(flags, `${part}-port`),
    tls: tlsOf(text(`${pair}-cert`), text(`${pair}-key`), text(`${pair}-ca-cert`)),
  });
  return {
    log: logFlagsOf({ v: Number(flags.v ?? 0), loggingFormat: text("logging-format") }),
    id: textOf(flags, "server-id") ?? process.env.PROXY_SERVER_ID,
    count: countOf(flags, "server-count", SERVERS_MAX),
    strategies: strategiesOf(text("proxy-strategies")),
    agents: place("agent", "cluster"),
    mode,
    frontends:
      path === ""
        ? place("server", "server")
        : { path, keepsExisting: !isOn(flags, "delete-existing-uds-file") },
    keepaliveMs: {
      agents: durationOf(flags, "keepalive-time"),
      frontends: durationOf(flags, "frontend-keepalive-time"),
    },
    health: { host: text("health-bind-address"), port: numberOf(flags, "health-port") },
    admin: { host: text("admin-bind-address"), port: numberOf(flags, "admin-port") },
    authentication: accountOf(flags),
    withoutEffect: flagsWithoutEffect(UPSTREAM_SERVER_FLAGS, flags),
  };
}

/** Throws FlagError for the first rule that is broken, in upstream's order. */
function checkServer(flags: Flags): void {
  const text = (name: string): string => textOf(flags, name) ?? "";
  for (const pair of ["server", "cluster"] as const) {
    checkPair(pair, text(`${pair}-cert`), text(`${pair}-key`));
    checkFile(`${pair} CA cert`, text(`${pair}-ca-cert`));
    if (text(`${pair}-ca-cert`) !== "" && text(`${pair}-cert`) === "") {
      throw new FlagError(`--${pair}-ca-cert needs --${pair}-cert and --${pair}-key`);
    }
  }
  const mode = text("mode");
  if (mode !== "grpc" && mode !== "http-connect") {
    throw new FlagError(`mode must be set to either 'grpc' or 'http-connect' not "${mode}"`);
  }
  checkFrontends(flags);
  checkPorts(flags);
  checkAuthentication(flags);
  const kubeconfig = text("kubeconfig");
  if (kubeconfig !== "" && !existsSync(kubeconfig)) {
    throw new FlagError(
      `checking KubeconfigPath "${kubeconfig}", got stat ${kubeconfig}: no such file or directory`,
    );
  }
}

function checkFrontends(flags: Flags): void {
  const has = (name: string): boolean => textOf(flags, name) !== undefined;
  if (!has("uds-name")) {
    if (has("server-ca-cert")) return;
    throw new FlagError("server ca cert must be set when in TCP mode (uds-name is empty)");
  }
  const port = numberOf(flags, "server-port");
  if (port !== 0) throw new FlagError(`server port should be set to 0 not ${port} for UDS`);
  for (const [flag, name] of [
    ["server-key", "server key"],
    ["server-cert", "server cert"],
    ["server-ca-cert", "server ca cert"],
  ] as const) {
    if (has(flag)) throw new FlagError(`${name} should not be set for UDS`);
  }
}

function checkPorts(flags: Flags): void {
  const kinds = ["server", "agent", "admin", "health"] as const;
  const ports = kinds.map((kind) => ({ kind, port: numberOf(flags, `${kind}-port`) }));
  const refuse = (which: string, kind: string, port: number): never => {
    throw new FlagError(`please do not try to use ${which} port ${port} for the ${kind} port`);
  };
  for (const { kind, port } of ports) if (port > PORT_MAX) refuse("ephemeral", kind, port);
  for (const { kind, port } of ports) {
    const isSocket = kind === "server" && textOf(flags, "uds-name") !== undefined;
    if (port < PORT_MIN && !isSocket) refuse("reserved", kind, port);
    if (!Number.isInteger(port)) throw new FlagError(`--${kind}-port: ${port} is no port`);
  }
}

const ACCOUNT_FLAGS = [
  "agent-namespace",
  "agent-service-account",
  "authentication-audience",
] as const;

/** An agent authenticates by its certificate or by a token, never by both. */
function checkAuthentication(flags: Flags): void {
  if (ACCOUNT_FLAGS.every((flag) => textOf(flags, flag) === undefined)) return;
  if (textOf(flags, "cluster-ca-cert") !== undefined) {
    throw new FlagError("--cluster-ca-cert can not be used when agent authentication is enabled");
  }
  // Without TLS everybody on the way could read the token.
  const missing = [...ACCOUNT_FLAGS, "cluster-cert"].find(
    (flag) => textOf(flags, flag) === undefined,
  );
  if (missing === undefined) return;
  throw new FlagError(`--${missing} cannot be empty when agent authentication is enabled`);
}

function strategiesOf(text: string): readonly Strategy[] {
  if (text === "") throw new FlagError("ProxyStrategies cannot be empty");
  const names = text.split(",").filter((name) => name !== "");
  for (const name of names) {
    if ((STRATEGIES as readonly string[]).includes(name)) continue;
    throw new FlagError(`invalid proxy strategies: unknown proxy strategy: ${name}`);
  }
  if (names.length > 0) return names as Strategy[];
  throw new FlagError("invalid proxy strategies: proxy strategies cannot be empty");
}

function tlsOf(cert: string, key: string, ca: string): TlsFiles | undefined {
  if (cert === "" && key === "") return undefined;
  const read = (file: string): string => readFileSync(file, "utf8");
  return { cert: read(cert), key: read(key), ca: ca === "" ? undefined : read(ca) };
}

function accountOf(flags: Flags): AgentAccount | undefined {
  const namespace = textOf(flags, "agent-namespace");
  if (namespace === undefined) return undefined;
  return {
    user: `system:serviceaccount:${namespace}:${textOf(flags, "agent-service-account") ?? ""}`,
    audience: textOf(flags, "authentication-audience") ?? "",
    connection: connectionOf(textOf(flags, "kubeconfig") ?? "", ""),
  };
}
