/** `k8ts kubelet`: a node alone, against any API server. */
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { runKubelet } from "#kubelet/kubelet.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { connectionOf } from "../flags/connection-flags.ts";
import { logFlagsOf } from "../flags/log-flags.ts";
import { parseFlags, refuseFlags } from "../flags/parse-flags.ts";
import { kubeletConfigOf, kubeletFlags } from "./kubelet-flags.ts";

export const kubeletCommand: Command = {
  name: "kubelet",
  summary: "run a node",
  run: async (args, signal) => {
    const parsed = parseFlags(kubeletFlags(), args, (flags) => ({
      flags,
      log: logFlagsOf({ v: Number(flags.v), loggingFormat: String(flags.loggingFormat) }),
      connection: connectionOf(String(flags.kubeconfig ?? ""), ""),
    }));
    if ("exitCode" in parsed) return parsed.exitCode;
    const { flags, log, connection } = parsed.config;
    try {
      const config = await kubeletConfigOf(flags);
      const { clock, random, logger } = processSurroundings(log);
      using transport = new HttpsTransport(connection, "kubelet");
      const client = new Client({ transport, clock, random, fieldManager: "kubelet" });
      const kubelet = runKubelet({ config, client, clock, random, logger }, signal);
      await kubelet.done;
      return 0;
    } catch (error) {
      return refuseFlags(error);
    }
  },
};
