/** `k8ts version`: the versions of this program, of its API and of what runs it. */
import { Command as Parser } from "commander";
import { KUBERNETES_VERSION } from "#api/meta/kubernetes-version.ts";
import { version } from "#cli/version.ts";
import type { Command } from "../command.ts";
import { addOutputFlag } from "../flags/output-flag.ts";
import { parseFlags } from "../flags/parse-flags.ts";

export const versionCommand: Command = {
  name: "version",
  summary: "print the version",
  flags: () => versionParser().options,
  run: async (args) => {
    const parsed = parseFlags(versionParser(), args, ({ output }) => output);
    if ("exitCode" in parsed) return parsed.exitCode;
    const versions = {
      version: version(),
      kubernetesVersion: KUBERNETES_VERSION,
      nodeVersion: process.version,
      platform: `${process.platform}/${process.arch}`,
    };
    process.stdout.write(
      parsed.config === "json"
        ? `${JSON.stringify(versions, undefined, 2)}\n`
        : `k8ts ${versions.version} (Kubernetes ${KUBERNETES_VERSION})\n`,
    );
    return 0;
  },
};

function versionParser(): Parser {
  return addOutputFlag(new Parser("k8ts version").description("Prints the version."));
}
