/** `k8ts node`: the nodes of a running cluster that are network namespaces of this machine. */
import { resolve } from "node:path";
import { Command as Parser } from "commander";
import type { Command } from "../command.ts";
import { FlagError, parseArguments, refuseFlags } from "../flags/parse-flags.ts";
import { refuseSubcommand } from "../flags/unknown-subcommand.ts";
import { defaultDataDir } from "../up/default-data-dir.ts";
import { askControl, controlSocket } from "../up/nodes/control-socket.ts";
import type { NodeView } from "../up/nodes/node-pool.ts";
import type { NodeRequest } from "../up/nodes/node-requests.ts";
import { runAgent } from "./run-agent.ts";

const USAGE = `Usage: k8ts node COMMAND [flags]

Commands:
  ls                 list the nodes that are network namespaces of this machine
  add [NAME]         add one, with its own containerd, kubelet and service proxy
  rm NAME            end its pods and remove it from the cluster
  stop NAME          switch it off, as if the machine lost its power
  start NAME         switch it on again
  partition NAME     cut it off from the network; --heal ends that
  slow NAME          --delay 100ms, --loss 1%, --rate 10mbit for what is sent to it; nothing ends that

Examples:
  k8ts node add
  k8ts node stop node-2
  k8ts node slow node-2 --delay 100ms --loss 1%

\`k8ts node COMMAND --help\` explains a command.
`;

type Options = Readonly<Record<string, string | boolean | undefined>>;

interface SubCommand {
  readonly operand: string;
  flags?(parser: Parser): Parser;
  request(name: string | undefined, options: Options): NodeRequest;
  say?(value: unknown, name: string | undefined): string;
}

const SUB_COMMANDS: Readonly<Record<string, SubCommand>> = {
  ls: {
    operand: "",
    flags: (parser) => parser.option("-o, --output <format>", "table or json", "table"),
    request: () => ({ verb: "ls" }),
  },
  add: {
    operand: "[name]",
    request: (name) => ({ verb: "add", ...(name === undefined ? {} : { name }) }),
    say: (value) => `node/${(value as NodeView).name} added\n`,
  },
  rm: named("rm", "removed"),
  stop: named("stop", "stopped"),
  start: named("start", "started"),
  partition: {
    operand: "<name>",
    flags: (parser) => parser.option("--heal", "connect it again"),
    request: (name, { heal }) => ({
      ...{ verb: "partition", name: needed(name), heal: heal === true },
    }),
    say: (_, name) => `node/${name} changed\n`,
  },
  slow: {
    operand: "<name>",
    flags: (parser) =>
      parser
        .option("--delay <time>", "what is sent to it waits that long")
        .option("--loss <share>", "that much is lost: 1%")
        .option("--rate <rate>", "it is sent no more than that: 10mbit"),
    request: (name, { delay, loss, rate }) => ({
      ...{ verb: "slow", name: needed(name) },
      slowness: {
        ...(typeof delay === "string" ? { delay } : {}),
        ...(typeof loss === "string" ? { loss } : {}),
        ...(typeof rate === "string" ? { rate } : {}),
      },
    }),
    say: (_, name) => `node/${name} changed\n`,
  },
};

export const nodeCommand: Command = {
  name: "node",
  summary: "add, remove, stop, start and disturb nodes of this machine",
  run: async ([verb = "--help", ...args], signal) => {
    if (verb === "--help" || verb === "-h" || verb === "help") {
      process.stdout.write(USAGE);
      return 0;
    }
    // The process of a node, started by `k8ts up`.
    if (verb === "run" && args[0] !== undefined) return runAgent(args[0], signal);
    const command = Object.hasOwn(SUB_COMMANDS, verb) ? SUB_COMMANDS[verb] : undefined;
    if (command === undefined) {
      return refuseSubcommand("node", verb, Object.keys(SUB_COMMANDS), USAGE);
    }
    try {
      return await ask(verb, command, args, signal);
    } catch (error) {
      return refuseFlags(error);
    }
  },
};

function named(verb: "rm" | "stop" | "start", done: string): SubCommand {
  return {
    operand: "<name>",
    request: (name) => ({ verb, name: needed(name) }),
    say: (_, name) => `node/${name} ${done}\n`,
  };
}

function needed(name: string | undefined): string {
  if (name === undefined) throw new FlagError("the name of a node is needed");
  return name;
}

async function ask(
  verb: string,
  { operand, flags = (parser) => parser, request, say }: SubCommand,
  args: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const parser = flags(
    new Parser(`k8ts node ${verb}`)
      .option("--data <dir>", "the cluster's data directory", defaultDataDir())
      .usage(`${operand} [flags]`)
      .allowExcessArguments(),
  );
  parseArguments(parser, args);
  const [name, ...more] = parser.args;
  if (more.length > 0) throw new FlagError(`unexpected arguments: ${more.join(" ")}`);
  const options = parser.opts<Options>();
  const dataDir = resolve(String(options.data));
  const answer = await askControl(controlSocket(dataDir), request(name, options), signal);
  if (answer === undefined) throw new FlagError(`no cluster with nodes runs on ${dataDir}`);
  if (!answer.ok) throw new FlagError(answer.message);
  process.stdout.write(say?.(answer.value, name) ?? listText(answer.value, options.output));
  return 0;
}

function listText(value: unknown, output: unknown): string {
  const nodes = value as readonly NodeView[];
  if (output === "json") return `${JSON.stringify(nodes, undefined, 2)}\n`;
  const rows = [
    ["NAME", "ADDRESS", "STATE", "PID"],
    ...nodes.map(({ name, address, state, pid }) => [name, address, state, String(pid ?? "-")]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("   ")
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join("");
}
