/** `k8ts token`: bootstrap tokens, with which machines join a cluster. */
import { join, resolve } from "node:path";
import { Command as Parser } from "commander";
import type { Secret } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { pinOfAuthority } from "#kubelet/bootstrap/authority-pin.ts";
import { parseBootstrapToken } from "#kubelet/bootstrap/bootstrap-token.ts";
import { clusterOf } from "#kubelet/bootstrap/cluster-info.ts";
import type { Random } from "#lib/random.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { connectionOf } from "../flags/connection-flags.ts";
import { addOutputFlag } from "../flags/output-flag.ts";
import { FlagError, parseArguments, refuseFlags } from "../flags/parse-flags.ts";
import { durationOf, type Flags } from "../flags/read-flags.ts";
import { refuseSubcommand } from "../flags/unknown-subcommand.ts";
import {
  CERTS_TOKEN_DESCRIPTION,
  CERTS_TTL_MS,
  newCertificateKey,
} from "../join/control-plane-secret.ts";
import { DEFAULT_TOKEN_GROUP } from "../join/join-objects.ts";
import { defaultDataDir } from "../up/default-data-dir.ts";
import { answeringServer } from "./answering-server.ts";
import { uploadControlPlane } from "./upload-control-plane.ts";

const USAGE = `Usage: k8ts token COMMAND [flags]

Commands:
  create [TOKEN]     make a token; --print-join-command prints what to run on the other machine
  list               list tokens
  delete TOKEN…      delete tokens, by their identifier or whole

Examples:
  k8ts token create --print-join-command
  k8ts token list --output json

\`k8ts token COMMAND --help\` explains a command.
`;

const NAMESPACE = "kube-system";
const SECRET_PREFIX = "bootstrap-token-";
const SECRET_TYPE = "bootstrap.kubernetes.io/token";
const CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
const USAGES = ["authentication", "signing"];

interface Context {
  readonly client: Client;
  readonly random: Random;
  readonly nowMs: number;
  readonly flags: Flags;
  readonly operands: readonly string[];
}

interface SubCommand {
  flags(parser: Parser): Parser;
  run(context: Context, signal: AbortSignal): Promise<string>;
}

const SUB_COMMANDS: Readonly<Record<string, SubCommand>> = {
  create: {
    flags: (parser) =>
      parser
        .option("--ttl <duration>", "how long it is good for; 0: for ever", "24h0m0s")
        .option("--description <text>", "what it is for", "")
        .option("--print-join-command", "print the command for the other machine")
        .option(
          "--control-plane",
          "for a machine of the control plane: also hands over the cluster's keys, encrypted, for two hours",
        ),
    run: create,
  },
  list: { flags: addOutputFlag, run: list },
  delete: { flags: (parser) => parser, run: remove },
};

export const tokenCommand: Command = {
  name: "token",
  summary: "make, list and delete the tokens with which machines join",
  run: async ([verb = "--help", ...args], signal) => {
    if (verb === "--help" || verb === "-h" || verb === "help") {
      process.stdout.write(USAGE);
      return 0;
    }
    const command = Object.hasOwn(SUB_COMMANDS, verb) ? SUB_COMMANDS[verb] : undefined;
    if (command === undefined) {
      return refuseSubcommand("token", verb, Object.keys(SUB_COMMANDS), USAGE);
    }
    try {
      process.stdout.write(await runWithClient(verb, command, args, signal));
      return 0;
    } catch (error) {
      return refuseFlags(error);
    }
  },
};

async function runWithClient(
  verb: string,
  command: SubCommand,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const parser = command.flags(
    new Parser(`k8ts token ${verb}`)
      .option("--data <dir>", "the cluster's data directory", defaultDataDir())
      .option("--kubeconfig <file>", "another cluster, as its administrator")
      .allowExcessArguments(),
  );
  parseArguments(parser, args);
  const flags = parser.opts<Flags>();
  const file = flags.kubeconfig ?? join(resolve(String(flags.data)), "admin.kubeconfig");
  const { clock, random } = processSurroundings({ logLevel: "info", logFormat: "text" });
  using transport = new HttpsTransport(connectionOf(String(file), ""), "k8ts-token");
  const client = new Client({ transport, clock, random, fieldManager: "k8ts-token" });
  const context = { client, random, nowMs: clock.nowMs(), flags, operands: parser.args };
  return await command.run(context, signal);
}

async function create(
  { client, random, nowMs, flags, operands }: Context,
  signal: AbortSignal,
): Promise<string> {
  const [given, ...more] = operands;
  if (more.length > 0) throw new FlagError(`unexpected arguments: ${more.join(" ")}`);
  const text = given ?? `${randomText(6, random)}.${randomText(16, random)}`;
  const token = parseBootstrapToken(text);
  if (token === undefined) {
    throw new FlagError(
      `the bootstrap token ${JSON.stringify(text)} was not of the form "\\A([a-z0-9]{6})\\.([a-z0-9]{16})\\z"`,
    );
  }
  const info = await client.get(
    configMapKind,
    { namespace: "kube-public", name: "cluster-info" },
    signal,
  );
  if (!info.ok) {
    throw new FlagError(
      info.status.reason === "NotFound"
        ? "other machines cannot reach this cluster: start it with --bind-address 0.0.0.0"
        : (info.status.message ?? "cluster-info cannot be read"),
    );
  }
  const ttlMs = durationOf(flags, "ttl");
  const description = String(flags.description);
  await createToken(client, token, { ttlMs, nowMs, description }, signal);
  const key = flags.controlPlane === true ? newCertificateKey() : undefined;
  if (key !== undefined) await handOver({ client, random, nowMs, flags }, key, signal);
  if (flags.printJoinCommand !== true) return key === undefined ? `${text}\n` : `${text}\n${key}\n`;
  const cluster = clusterOf(info.value.data?.kubeconfig ?? "");
  const server = await answeringServer(client, cluster, signal);
  const command = `k8ts join ${server} --token ${text} --ca-cert-hash ${pinOfAuthority(cluster.authorityPem)}`;
  return key === undefined
    ? `${command}\n`
    : `${command} --control-plane --certificate-key ${key}\n`;
}

/** A token of its own ends the life of the Secret. */
async function handOver(
  { client, random, nowMs, flags }: Omit<Context, "operands">,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  const token = { id: randomText(6, random), secret: randomText(16, random) };
  const terms = { ttlMs: CERTS_TTL_MS, nowMs, description: CERTS_TOKEN_DESCRIPTION, usages: [] };
  const owner = await createToken(client, token, terms, signal);
  const dataDir = resolve(String(flags.data));
  const { fileFlags } = await uploadControlPlane(client, dataDir, key, owner, signal);
  if (fileFlags.length === 0) return;
  process.stderr.write(
    `k8ts token: these flags name files, which are not handed over; give them to the other machine by hand: ${fileFlags.map((name) => `--${name}`).join(" ")}\n`,
  );
}

interface TokenTerms {
  /** 0: for ever. */
  readonly ttlMs: number;
  readonly nowMs: number;
  readonly description: string;
  readonly usages?: readonly string[];
}

async function createToken(
  client: Client,
  { id, secret: tokenSecret }: { readonly id: string; readonly secret: string },
  { ttlMs, nowMs, description, usages = USAGES }: TokenTerms,
  signal: AbortSignal,
): Promise<Secret> {
  const expiration = new Date(nowMs + ttlMs).toISOString().replace(/\.\d+Z$/, "Z");
  const secret: Secret = {
    ...{ apiVersion: "v1", kind: "Secret", type: SECRET_TYPE },
    metadata: { namespace: NAMESPACE, name: SECRET_PREFIX + id },
    stringData: {
      "token-id": id,
      "token-secret": tokenSecret,
      ...(ttlMs === 0 ? {} : { expiration }),
      ...(description === "" ? {} : { description }),
      ...Object.fromEntries(usages.map((usage) => [`usage-bootstrap-${usage}`, "true"])),
      ...(usages.length === 0 ? {} : { "auth-extra-groups": DEFAULT_TOKEN_GROUP }),
    },
  };
  const created = await client.create(secretKind, secret, {}, signal);
  if (!created.ok) throw new FlagError(created.status.message ?? "the token cannot be created");
  return created.value;
}

async function list({ client, nowMs, flags }: Context, signal: AbortSignal): Promise<string> {
  const fieldSelector = `type=${SECRET_TYPE}`;
  const found = await client.list(secretKind, { namespace: NAMESPACE, fieldSelector }, signal);
  if (!found.ok) throw new FlagError(found.status.message ?? "tokens cannot be listed");
  const tokens = found.value.items.map(listedToken);
  if (flags.output === "json") return `${JSON.stringify(tokens, undefined, 2)}\n`;
  const rows = tokens.map(({ token, expires = "", usages, description, groups }) => {
    const left = Date.parse(expires) - nowMs;
    const ttl = expires === "" ? "<forever>" : left <= 0 ? "<invalid>" : hours(left);
    const cells = [token, ttl, expires, usages.join(","), description, groups.join(",")];
    return cells.map((cell) => (cell === "" ? "<none>" : cell));
  });
  const header = ["TOKEN", "TTL", "EXPIRES", "USAGES", "DESCRIPTION", "EXTRA GROUPS"];
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join("   ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

interface ListedToken {
  readonly token: string;
  /** Absent if it is good for ever. */
  readonly expires?: string;
  readonly usages: readonly string[];
  readonly description: string;
  readonly groups: readonly string[];
}

function listedToken({ data }: Secret): ListedToken {
  const value = (key: string): string => atob(data?.[key] ?? "");
  const expires = value("expiration");
  return {
    token: `${value("token-id")}.${value("token-secret")}`,
    ...(expires === "" ? {} : { expires }),
    usages: USAGES.filter((usage) => value(`usage-bootstrap-${usage}`) === "true"),
    description: value("description"),
    groups: value("auth-extra-groups")
      .split(",")
      .filter((group) => group !== ""),
  };
}

async function remove({ client, operands }: Context, signal: AbortSignal): Promise<string> {
  if (operands.length === 0) {
    throw new FlagError("missing argument; 'token delete' is missing token");
  }
  let text = "";
  for (const operand of operands) {
    const id = parseBootstrapToken(operand)?.id ?? operand;
    if (!/^[a-z0-9]{6}$/.test(id)) {
      throw new FlagError(`given token didn't match pattern "\\A([a-z0-9]{6})\\z": ${operand}`);
    }
    const key = { namespace: NAMESPACE, name: SECRET_PREFIX + id };
    const deleted = await client.delete(secretKind, key, {}, signal);
    if (!deleted.ok) throw new FlagError(deleted.status.message ?? "it cannot be deleted");
    text += `bootstrap token ${JSON.stringify(id)} deleted\n`;
  }
  return text;
}

function randomText(length: number, random: Random): string {
  return Array.from({ length }, () => CHARACTERS[random.integer(CHARACTERS.length)]).join("");
}

function hours(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60 ? `${minutes}m` : `${Math.floor(minutes / 60)}h`;
}
