/** The flags of `k8ts up`. What it does not know itself goes to the API server. */
import { Command as Parser } from "commander";
import { type ApiServerFlags, parseFlags } from "../apiserver/flags/flags.ts";
import { flag } from "../flags/flag-values.ts";
import { parseArguments } from "../flags/parse-flags.ts";
import { defaultDataDir } from "./default-data-dir.ts";

export interface UpFlags {
  readonly server: ApiServerFlags;
  /** Whether a real node is part of the cluster. */
  readonly node: boolean;
  /** Undefined unless the flag was given. */
  readonly encryptSecrets: boolean | undefined;
  /** Offer directories of the nodes as the default storage. */
  readonly localStorage: boolean;
}

/** Defaults that differ from those of `k8ts apiserver`. */
const OWN_FLAGS = [
  // Names of nodes mean nothing to a resolver on the machine of a small cluster.
  ...["--kubelet-preferred-address-types", "InternalIP,ExternalIP,Hostname"],
  // Other machines reach it only where that is asked for.
  ...["--bind-address", "127.0.0.1"],
  // Network and storage add-ons run privileged containers.
  "--allow-privileged=true",
];

export function parseUpFlags(args: readonly string[]): UpFlags {
  const parser = new Parser("k8ts up")
    .allowUnknownOption()
    .allowExcessArguments()
    .description("Runs a cluster in one process. Takes the flags of `k8ts apiserver` too.")
    .option("--no-node", "run no node")
    .option("--data <dir>", "where everything is kept", defaultDataDir())
    .option("--port <port>", "HTTPS port", "6443")
    .option("--local-storage", "directories of nodes as the default StorageClass; on with nodes")
    .option(
      "--encrypt-secrets [bool]",
      "encrypt Secrets in the store with a key that is kept in the data directory",
      flag,
    )
    .option("--foreground", "stay in the foreground, as it does anyway")
    .option("--no-install", "install no packages");
  parseArguments(parser, args);
  const { node, data, port, localStorage, encryptSecrets } = parser.opts<{
    encryptSecrets?: boolean;
    node: boolean;
    data: string;
    port: string;
    localStorage?: boolean;
  }>();
  const rest = ["--data-dir", data, "--secure-port", port, ...parser.args];
  return {
    server: parseFlags([...OWN_FLAGS, ...rest]),
    node,
    encryptSecrets,
    localStorage: localStorage ?? node,
  };
}
