/**
 * `k8ts node run FILE`: the process of one node inside its network namespace, started by `k8ts up`. It writes
 * `ready` to stdout, logs as JSON to stderr, and ends when its stdin does, so that it never outlives the
 * cluster.
 */
import { networkMarks } from "#network/network-marks.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { readAgentConfig } from "./agent-config.ts";
import { runNodeProcess } from "./run-node-process.ts";

export async function runAgent(file: string, outer: AbortSignal): Promise<number> {
  const { serving, ...config } = await readAgentConfig(file);
  const life = new AbortController();
  const signal = AbortSignal.any([outer, life.signal]);
  process.stdin.on("end", () => life.abort()).on("error", () => life.abort());
  process.stdin.resume();
  const { cert, key, clientCa } = serving;
  try {
    await runNodeProcess(
      {
        ...config,
        marks: networkMarks(config.dataDir),
        serving: {
          ...{ address: "0.0.0.0", tls: { cert, key }, clientCa },
          ...{ anonymous: false, authorization: "Webhook" },
        },
      },
      processSurroundings({ logLevel: "info", logFormat: "json" }),
      () => void process.stdout.write("ready\n"),
      signal,
    );
  } finally {
    process.stdin.destroy();
  }
  return 0;
}
