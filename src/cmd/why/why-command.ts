/**
 * `k8ts why pod NAME`: which nodes the scheduler tried for a pod and why they did or did not fit;
 * `k8ts why deployment NAME`: what the controllers decided about an object.
 */
import { resolve } from "node:path";
import { Command as Parser } from "commander";
import { codeOf } from "#lib/caught.ts";
import type { Command } from "../command.ts";
import { addOutputFlag } from "../flags/output-flag.ts";
import { FlagError, parseFlags } from "../flags/parse-flags.ts";
import { defaultDataDir } from "../up/default-data-dir.ts";
import { askForDecisions } from "./why-socket.ts";

/** Short names that people type; anything else is a resource as it is written. */
const SHORT: Readonly<Record<string, string>> = {
  ...{ po: "pod", pods: "pod", deploy: "deployment", deployments: "deployment" },
  ...{ rs: "replicaset", sts: "statefulset", ds: "daemonset", cj: "cronjob", jobs: "job" },
  ...{ hpa: "horizontalpodautoscaler", ns: "namespace" },
};

export const whyCommand: Command = {
  name: "why",
  summary: "say why a pod runs where it runs, or does not run, and what controllers decided",
  flags: () => whyParser().options,
  run: async (args) => {
    const parser = whyParser();
    const parsed = parseFlags(parser, args, ({ data, namespace, output }) => {
      const [resource = "", name] = targetOf(parser.args);
      if (name === undefined) throw new FlagError("name an object: k8ts why pod NAME");
      const isCluster = resource === "node" || resource === "namespace";
      const where = isCluster ? "" : String(namespace);
      return { dataDir: resolve(String(data)), resource, where, name, output };
    });
    if ("exitCode" in parsed) return parsed.exitCode;
    const { dataDir, resource, where, name, output } = parsed.config;
    const suffix = output === "json" ? ".json" : "";
    try {
      const path = `/why/${resource}/${where}/${name}${suffix}`;
      process.stdout.write(await askForDecisions(dataDir, path));
      return 0;
    } catch (error) {
      const code = codeOf(error);
      if (code !== "ENOENT" && code !== "ECONNREFUSED") throw error;
      throw new Error(`no cluster runs on ${dataDir}: \`k8ts up\` starts it, --data names another`);
    }
  },
};

/** `pod web-1` or `pod/web-1`. */
function targetOf(args: readonly string[]): readonly string[] {
  const [first = "", ...rest] = args.flatMap((arg) => arg.split("/"));
  const resource = first.toLowerCase();
  return [Object.hasOwn(SHORT, resource) ? SHORT[resource]! : resource, ...rest];
}

function whyParser(): Parser {
  const parser = new Parser("k8ts why")
    .argument("[resource]", "pod, deployment, job, …")
    .argument("[name]", "of the object")
    .description(
      "Says why a pod runs where it runs, or does not run, and what controllers decided about an object. The cluster keeps the last attempts of 10,000 pods and the last 2,000 decisions.",
    )
    .option("-n, --namespace <name>", "of the object", "default")
    .option("--data <dir>", "the data directory of the cluster", defaultDataDir());
  return addOutputFlag(parser).addHelpText("after", EXAMPLES);
}

const EXAMPLES = `
Examples:
  k8ts why pod web-5d4f-x2x7k
  k8ts why pod/web-5d4f-x2x7k -n shop --output json
  k8ts why deployment web`;
