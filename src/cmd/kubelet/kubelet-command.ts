/** `k8ts kubelet`: a node alone, against any API server. */
import { addProcessMetrics } from "#apiserver/metrics/process-metrics.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { RequestMetrics } from "#client/request-metrics.ts";
import { setOwnOomScore } from "#host/processes.ts";
import { bootstrapKubeconfig, rotateKubeconfig } from "#kubelet/bootstrap/bootstrap-kubeconfig.ts";
import { messageOf } from "#lib/caught.ts";
import { collectWhenIdle, ownHeap, withoutMemoryReducer } from "#lib/idle-gc.ts";
import { Metrics } from "#lib/metrics.ts";
import { releaseProgramPages } from "#lib/native/release-program-pages.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { connectionOf } from "../flags/connection-flags.ts";
import { logFlagsOf } from "../flags/log-flags.ts";
import { FlagError, parseFlags, refuseFlags } from "../flags/parse-flags.ts";
import { textOf } from "../flags/read-flags.ts";
import { addCertificateMetrics, addClientRotationMetrics } from "./certificate-metrics.ts";
import { kubeletConfigOf, kubeletFlags, nodeServingOf } from "./kubelet-flags.ts";
import { runHealthz } from "./run-healthz.ts";
import { runNode } from "./run-node.ts";

/** Its heap is small: a collection is short. */
const IDLE_GC = { gainBytesMin: 4 * 1024 * 1024, lookEveryMs: 5_000, quietMs: 10_000 };

export const kubeletCommand: Command = {
  name: "kubelet",
  summary: "run a node",
  run: async (args, signal) => {
    const parsed = parseFlags(kubeletFlags(), args, (flags) => ({
      flags,
      log: logFlagsOf({ v: Number(flags.v), loggingFormat: String(flags.loggingFormat) }),
    }));
    if ("exitCode" in parsed) return parsed.exitCode;
    const { flags, log } = parsed.config;
    try {
      const { config, warnings, withoutEffect } = await kubeletConfigOf(flags);
      const { clock, random, logger } = processSurroundings(log);
      for (const why of warnings) {
        logger.warn("Using lenient decoding as strict decoding failed", { why });
      }
      for (const field of withoutEffect) {
        logger.warn("A field of KubeletConfiguration has no effect in this kubelet", { field });
      }
      await setOwnOomScore(config.oomScoreAdj).catch((error: unknown) =>
        logger.warn("Unable to apply oom score to the kubelet", { why: messageOf(error) }),
      );
      const { nodeName } = config;
      const file = textOf(flags, "kubeconfig") ?? "";
      const bootstrapFile = textOf(flags, "bootstrap-kubeconfig");
      if (bootstrapFile !== undefined) {
        if (file === "") throw new FlagError("--bootstrap-kubeconfig needs --kubeconfig");
        const where = { nodeName, bootstrapFile, file };
        await bootstrapKubeconfig({ ...where, clock, random, logger }, signal);
      }
      const metrics = new Metrics();
      addProcessMetrics(metrics, clock.nowMs() / 1000);
      const connection = connectionOf(file, "");
      const requests = new RequestMetrics(metrics, clock).to(new URL(connection.server).host);
      using transport = new HttpsTransport(connection, "kubelet", requests, {
        http2: { clock },
      });
      const client = new Client({ transport, clock, random, fieldManager: "kubelet" });
      const serving = await nodeServingOf(flags, config, clock);
      addCertificateMetrics(metrics, { file, serving: serving.tls, clock });
      withoutMemoryReducer();
      collectWhenIdle(clock, ownHeap(), signal, { ...IDLE_GC, onRest: releaseProgramPages });
      const parts = { config, serving, client, clock, random, logger, metrics };
      const node = runNode(parts, signal);
      void runHealthz(config, logger, signal);
      const rotating = config.rotateCertificates
        ? rotateKubeconfig(
            { nodeName, file, clock, random, logger, metrics: addClientRotationMetrics(metrics) },
            client,
            signal,
          )
        : undefined;
      await node.done.catch((error: unknown) => {
        throw new FlagError(`failed to run Kubelet: ${messageOf(error)}`);
      });
      await rotating;
      return 0;
    } catch (error) {
      return refuseFlags(error);
    }
  },
};
