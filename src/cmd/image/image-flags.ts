/** What the sub-commands of `k8ts image` have in common: which runtimes they talk to. */
import { join } from "node:path";
import type { Command as Parser } from "commander";
import { socketOf } from "#kubelet/containerd/containerd-config.ts";
import { knownNodes, nodePaths } from "#kubelet/containerd/node-paths.ts";
import { FlagError } from "../flags/parse-flags.ts";
import { defaultDataDir } from "../up/default-data-dir.ts";

export interface RuntimeFlags {
  readonly data: string;
  readonly node?: string;
  readonly containerRuntimeEndpoint?: string;
}

/** A runtime whose images a command works on. */
export interface ImageRuntime {
  /** For messages. */
  readonly name: string;
  readonly endpoint: string;
  readonly workFolder: string;
}

export function addRuntimeFlags(parser: Parser): Parser {
  return parser
    .option("--data <dir>", "the cluster's data directory", defaultDataDir())
    .option("--node <name>", "only this node of the cluster")
    .option("--container-runtime-endpoint <address>", "another runtime: unix:///run/….sock");
}

/** The runtime that was named, or those of all nodes of the cluster. */
export async function runtimesOf(flags: RuntimeFlags): Promise<readonly ImageRuntime[]> {
  const { data, node, containerRuntimeEndpoint: endpoint } = flags;
  if (endpoint !== undefined) return [{ name: endpoint, endpoint, workFolder: join(data, "work") }];
  const known = await knownNodes(data);
  const chosen = node === undefined ? known : known.filter((name) => name === node);
  if (chosen.length === 0) {
    throw new FlagError(
      node === undefined
        ? `no node has run on ${data}: start a cluster with "k8ts up", or name a runtime with --container-runtime-endpoint`
        : `there is no node ${JSON.stringify(node)} on ${data}: it has ${known.join(", ") || "none"}`,
    );
  }
  return chosen.map((name) => {
    const { containerdState: state, work } = nodePaths(data, name);
    return { name, endpoint: `unix://${socketOf({ state })}`, workFolder: work };
  });
}
