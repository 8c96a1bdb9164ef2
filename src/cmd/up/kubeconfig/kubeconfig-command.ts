/** `k8ts kubeconfig`: prints the kubeconfig of a cluster's administrator. */
import { resolve } from "node:path";
import { Command as Parser } from "commander";
import { readPrivateFile } from "#pki/private-file.ts";
import type { Command } from "../../command.ts";
import { parseFlags } from "../../flags/parse-flags.ts";
import { defaultDataDir } from "../default-data-dir.ts";

export const kubeconfigCommand: Command = {
  name: "kubeconfig",
  summary: "print the kubeconfig of the cluster",
  flags: () => kubeconfigParser().options,
  run: async (args) => {
    const parsed = parseFlags(kubeconfigParser(), args, ({ data }) => resolve(String(data)));
    if ("exitCode" in parsed) return parsed.exitCode;
    const text = readPrivateFile(resolve(parsed.config, "kubeconfig"));
    if (text === undefined) {
      process.stderr.write(`k8ts kubeconfig: no cluster was started on ${parsed.config} yet\n`);
      return 1;
    }
    process.stdout.write(text);
    return 0;
  },
};

function kubeconfigParser(): Parser {
  return new Parser("k8ts kubeconfig")
    .description("Prints the kubeconfig of a cluster's administrator.")
    .option("--data <dir>", "the cluster's data directory", defaultDataDir())
    .addHelpText("after", "\nExamples:\n  k8ts kubeconfig > cluster.kubeconfig");
}
