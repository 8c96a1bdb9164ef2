/**
 * `k8ts simulate`: simulated nodes for any cluster, and failures of such nodes by command.
 *
 *     k8ts simulate --kubeconfig FILE --nodes 1000
 *     k8ts simulate fail --zone zone-a
 *     k8ts simulate recover --all
 */

import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { Command, type Command as Parser } from "commander";
import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { fetchMachines, followMachines } from "#sim/follow-machines.ts";
import {
  FAILURE_ANNOTATION,
  FAILURES,
  failureOf,
  SIMULATED_SELECTOR,
  ZONE_LABEL,
} from "#sim/names.ts";
import { DEFAULT_RENEW_MS, runSimulation } from "#sim/run-simulation.ts";
import type { Command as CommandEntry } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { servingCertificate } from "../component/serving-certificate.ts";
import { connectionOf } from "../flags/connection-flags.ts";
import { integer } from "../flags/flag-values.ts";
import { logFlagsOf } from "../flags/log-flags.ts";
import { badValue, FlagError, parseFlags, refuseFlags } from "../flags/parse-flags.ts";
import { userKubeconfigFile } from "../up/kubeconfig/user-kubeconfig.ts";
import { nodeCount } from "./node-count.ts";
import { simulationOf } from "./simulation-file.ts";
import { SIMULATED_KUBELET_PORT, startOnFreePort } from "./start-on-free-port.ts";

export const simulateCommand: CommandEntry = {
  name: "simulate",
  summary: "run simulated nodes, make them fail and recover",
  flags: () => simulateParser().options,
  run: async (args, signal) => {
    const [verb, ...rest] = args;
    if (verb === "fail" || verb === "recover") return changeNodes(verb, rest, signal);
    return simulate(args, signal);
  },
};

async function simulate(args: readonly string[], signal: AbortSignal): Promise<number> {
  const parsed = parseFlags(simulateParser(), args, (flags) => ({
    nodes: Number(flags.nodes ?? (flags.machines === undefined ? 1 : 0)),
    machines: machinesUrl(textOf(flags.machines)),
    config: simulationOf(textOf(flags.config)),
    connection: connectionOf(kubeconfigOf(flags.kubeconfig), ""),
    address: textOf(flags.nodeIp),
    port: typeof flags.port === "number" ? flags.port : undefined,
    clientCa: textOf(flags.clientCaFile),
    log: logFlagsOf({ v: Number(flags.v), loggingFormat: "text" }),
  }));
  if ("exitCode" in parsed) return parsed.exitCode;
  const { nodes, machines, config, connection, address, port, clientCa, log } = parsed.config;
  const { clock, random, logger } = processSurroundings(log);
  using transport = new HttpsTransport(connection, "k8ts-simulate", undefined, {
    http2: { clock },
  });
  const client = new Client({ transport, clock, random, fieldManager: "kubelet" });
  const tls = servingCertificate({ certFile: "", keyFile: "" }, hostname(), clock);
  const authorities = clientCa === undefined ? undefined : readFileSync(clientCa, "utf8");
  const start = (own: number) => {
    const serving = { address, port: own, tls, clientCa: authorities };
    const parts = { client, clock, random, logger, nodes, config, serving };
    return runSimulation({ ...parts, renewMs: DEFAULT_RENEW_MS }, signal);
  };
  const simulation = await startOnFreePort(start, port);
  if (!signal.aborted) process.stdout.write(`${nodes} simulated nodes are registered\n`);
  const following =
    machines === undefined
      ? undefined
      : followMachines(
          {
            ...{ client, clock, logger, template: config.nodes },
            machines: (until) => fetchMachines(machines, until),
          },
          signal,
        );
  await Promise.all([simulation.done, following]);
  return 0;
}

async function changeNodes(
  verb: "fail" | "recover",
  args: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const parser = failureParser(verb);
  const parsed = parseFlags(parser, args, (flags) => ({
    names: new Set(parser.args),
    zone: textOf(flags.zone),
    all: flags.all === true,
    failure: verb === "fail" ? (textOf(flags.kind) ?? null) : null,
    connection: connectionOf(kubeconfigOf(flags.kubeconfig), ""),
  }));
  if ("exitCode" in parsed) return parsed.exitCode;
  const { names, zone, all, failure, connection } = parsed.config;
  if (names.size === 0 && zone === undefined && !all) {
    return refuseFlags(new FlagError("name nodes, or give --zone ZONE or --all"));
  }
  const { clock, random } = processSurroundings(logFlagsOf({ v: 0, loggingFormat: "text" }));
  using transport = new HttpsTransport(connection, "k8ts-simulate");
  const client = new Client({ transport, clock, random, fieldManager: "k8ts-simulate" });
  const listed = await client.list(nodeKind, { labelSelector: SIMULATED_SELECTOR }, signal);
  if (!listed.ok) throw new Error(listed.status.message);
  const isMeant = ({ metadata }: Node): boolean =>
    all ||
    names.has(metadata.name ?? "") ||
    (zone !== undefined && metadata.labels?.[ZONE_LABEL] === zone);
  const nodes = listed.value.items.filter(isMeant);
  const missing = [...names].filter(
    (name) => !nodes.some(({ metadata }) => metadata.name === name),
  );
  if (missing.length > 0) throw new Error(`no simulated node is called ${missing.join(", ")}`);
  if (nodes.length === 0) throw new Error(`no simulated node is in the zone ${zone}`);
  const patch = { metadata: { annotations: { [FAILURE_ANNOTATION]: failure } } };
  for (const { metadata } of nodes) {
    const answer = await client.patch(
      nodeKind,
      { name: metadata.name ?? "" },
      "merge",
      patch,
      {},
      signal,
    );
    if (!answer.ok) throw new Error(answer.status.message);
  }
  process.stdout.write(`${nodes.length} node(s): ${failure ?? "recovered"}\n`);
  return 0;
}

function simulateParser(): Parser {
  return new Command("k8ts simulate")
    .description(
      "Runs simulated nodes against any API server. `simulate fail` and `simulate recover` change their state.",
    )
    .option("--kubeconfig <file>", "the cluster; the user's kubeconfig unless given")
    .option("--nodes <count>", "how many nodes; 1, or with --machines 0, unless given", nodeCount)
    .option(
      "--machines <url>",
      "the machine API of a simulated cloud: each of its machines is a node, too",
    )
    .option("--config <file>", "what nodes look like and what pods do (YAML)")
    .option(
      "--node-ip <address>",
      "one address that all nodes have, where the API server is on another machine",
    )
    .option(
      "--port <port>",
      `of the kubelet server of all nodes; ${SIMULATED_KUBELET_PORT}, or any free one`,
      integer,
    )
    .option("--client-ca-file <file>", "the authorities of clients of the kubelet server")
    .option("-v <level>", "how much is logged", "0")
    .addHelpText("after", EXAMPLES);
}

const EXAMPLES = `
Examples:
  k8ts simulate --kubeconfig ~/.kube/config --nodes 1000
  k8ts simulate --machines http://127.0.0.1:8090   a node for each machine of a simulated cloud
  k8ts simulate fail sim-3 sim-4       no heartbeats from two nodes
  k8ts simulate fail --zone zone-a     …from a zone
  k8ts simulate recover --all`;

function failureParser(verb: "fail" | "recover"): Parser {
  const parser = new Command(`k8ts simulate ${verb}`)
    .argument("[nodes...]", "names of nodes")
    .option("--kubeconfig <file>", "the cluster; the user's kubeconfig unless given")
    .option("--zone <zone>", "all nodes of a zone")
    .option("--all", "all simulated nodes");
  if (verb === "recover") return parser.description("Ends the failure of simulated nodes.");
  return parser
    .description("Makes simulated nodes fail.")
    .option("--kind <failure>", FAILURES.join(" or "), failureKind, "unreachable");
}

function failureKind(text: string): string {
  const failure = failureOf(text);
  if (failure === undefined) throw badValue(`must be ${FAILURES.join(" or ")}`);
  return failure;
}

function machinesUrl(text: string | undefined): string | undefined {
  const isUrl = text !== undefined && URL.canParse(text) && /^https?:/.test(text);
  if (text === undefined || isUrl) return text;
  throw new FlagError(`--machines: ${text} is not http://HOST:PORT`);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function kubeconfigOf(value: unknown): string {
  return textOf(value) ?? userKubeconfigFile(process.env);
}
