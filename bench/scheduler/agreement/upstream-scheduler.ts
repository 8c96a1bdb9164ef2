/** A kube-scheduler beside ours, and what its log says about the nodes of each pod. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { configurationOf } from "./profiles.ts";

export interface NodeScores {
  /** The node's weighted scores by plugin. */
  readonly byPlugin: Map<string, number>;
  total: number | undefined;
}

export class UpstreamScheduler implements AsyncDisposable {
  readonly #scores = new Map<string, Map<string, NodeScores>>();
  readonly #end: () => Promise<void>;

  constructor(program: string, folder: string, kubeconfig: string) {
    const config = join(folder, "upstream-scheduler.json");
    const clientConnection = { kubeconfig, qps: 5_000, burst: 5_000 };
    const leaderElection = { leaderElect: false };
    writeFileSync(
      config,
      JSON.stringify({ ...configurationOf("upstream"), clientConnection, leaderElection }),
    );
    const flags = ["--config", config, "--secure-port=0", "-v=10", "--logging-format=json"];
    const child = spawn(program, flags, { stdio: ["ignore", "ignore", "pipe"] });
    const exit = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    createInterface({ input: child.stderr }).on("line", (line) => this.#read(line));
    this.#end = async () => {
      child.kill("SIGKILL");
      await exit;
    };
  }

  /** Of the nodes on which the pod fits; empty if it is one or none. Forgets them. */
  takeScores(namespace: string, name: string): ReadonlyMap<string, NodeScores> {
    const key = `${namespace}/${name}`;
    const scores = this.#scores.get(key) ?? new Map<string, NodeScores>();
    this.#scores.delete(key);
    return scores;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#end();
  }

  #read(line: string): void {
    if (!line.includes("Plugin scored node") && !line.includes("final score for pod")) return;
    const { msg, pod, node, plugin, score } = JSON.parse(line) as LogLine;
    const key = `${pod.namespace}/${pod.name}`;
    const nodes = this.#scores.get(key) ?? new Map<string, NodeScores>();
    this.#scores.set(key, nodes);
    const scores = nodes.get(node) ?? { byPlugin: new Map(), total: undefined };
    nodes.set(node, scores);
    if (msg.startsWith("Calculated")) scores.total = score;
    else scores.byPlugin.set(plugin, score);
  }
}

interface LogLine {
  readonly msg: string;
  readonly pod: { readonly namespace: string; readonly name: string };
  readonly node: string;
  readonly plugin: string;
  readonly score: number;
}
