/** `k8ts proxy`: the service proxy of a node (kube-proxy), against any API server of version 1.36. */

import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";
import { IP_FAMILIES } from "#api/meta/ip-family.ts";
import { addProcessMetrics } from "#apiserver/metrics/process-metrics.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { RequestMetrics } from "#client/request-metrics.ts";
import { collectWhenIdle, ownHeap } from "#lib/idle-gc.ts";
import { Metrics } from "#lib/metrics.ts";
import { releaseProgramPages } from "#lib/native/release-program-pages.ts";
import { PolicyWriter } from "#network/policy/nft/policy-writer.ts";
import { runNetworkPolicy } from "#network/policy/run-network-policy.ts";
import { applyConntrackSettings } from "#proxy/conntrack-settings.ts";
import { detectMode, removeRules } from "#proxy/detect-mode.ts";
import { type Page, startPageServer, textPage } from "#proxy/health/page-server.ts";
import { PROXY_MODES, type ProxyMode } from "#proxy/proxy-mode.ts";
import { runProxy } from "#proxy/run-proxy.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { connectionOf } from "../flags/connection-flags.ts";
import { parseFlags } from "../flags/parse-flags.ts";
import { proxyConfigOf, proxyFlags } from "./proxy-flags.ts";

const FIELD_MANAGER = "kube-proxy";
const GAIN_BYTES_MIN = 4 * 1024 * 1024;

export const proxyCommand: Command = {
  name: "proxy",
  summary: "run the service proxy of a node",
  run: async (args, signal) => {
    const parsed = parseFlags(proxyFlags(), args, (flags) => {
      const config = proxyConfigOf(flags);
      if (config.cleanup) return { ...config, connection: undefined };
      return { ...config, connection: connectionOf(config.kubeconfig, config.master) };
    });
    if ("exitCode" in parsed) return parsed.exitCode;
    const { connection, log, proxy, metrics: served } = parsed.config;
    const { clock, random, logger } = processSurroundings(log);
    if (connection === undefined) {
      await removeRules(PROXY_MODES, IP_FAMILIES, clock);
      await new PolicyWriter().remove().catch(() => undefined); // without nft there are none
      logger.info("service rules are removed");
      return 0;
    }
    const mode = parsed.config.mode ?? (await detectMode());
    const { conntrack, oomScoreAdj, withoutEffect } = parsed.config;
    if (withoutEffect.length > 0) logger.warn("flags without effect", { flags: withoutEffect });
    if (oomScoreAdj !== undefined) await writeFile("/proc/self/oom_score_adj", `${oomScoreAdj}`);
    await applyConntrackSettings(conntrack, availableParallelism(), logger);
    logger.info("using the proxy mode", { mode, node: proxy.nodeName });
    collectWhenIdle(clock, ownHeap(), signal, {
      gainBytesMin: GAIN_BYTES_MIN,
      onRest: releaseProgramPages,
    });
    // There the proxy carries the traffic itself; see the entry for why compilers are left out otherwise.
    if (mode === "userspace") setFlagsFromString("--opt");
    const metrics = new Metrics();
    addProcessMetrics(metrics, clock.nowMs() / 1000);
    const requests = new RequestMetrics(metrics, clock).to(new URL(connection.server).host);
    using transport = new HttpsTransport(connection, FIELD_MANAGER, requests);
    const client = new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
    if (served !== undefined) {
      const page = (path: string): Page | undefined => metricsPage(path, metrics, mode);
      await startPageServer({ ...served, page }, signal);
    }
    const shared = { client, clock, random, logger };
    const { nodeName, checkPeriodMs } = proxy;
    const policies = {
      ...shared,
      nodeName,
      ...(checkPeriodMs === undefined ? {} : { checkPeriodMs }),
    };
    await Promise.all([
      runProxy({ ...proxy, ...shared, metrics, mode, trimObjects: true }, signal).done,
      parsed.config.networkPolicy ? runNetworkPolicy(policies, signal).done : undefined,
    ]);
    return 0;
  },
};

function metricsPage(path: string, metrics: Metrics, mode: ProxyMode): Page | undefined {
  if (path === "/metrics") return textPage(metrics.text());
  if (path === "/proxyMode") return textPage(mode);
  return path === "/healthz" || path === "/livez" ? textPage("ok") : undefined;
}
