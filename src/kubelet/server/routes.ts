/** The paths of the kubelet's server that answer with a document or a log. */
import type { Pod } from "#api/generated/core.v1.ts";
import { filesystemSpace, readNodeUsage } from "#host/node-usage.ts";
import type { Clock } from "#lib/time/clock.ts";
import { resourceMetrics } from "../stats/resource-metrics.ts";
import { type Summary, summaryOf } from "../stats/summary.ts";
import { volumeMetrics } from "../stats/volume-metrics.ts";
import { jsonAnswer, type KubeletAnswer, textAnswer } from "./answer.ts";
import { checkpointRoute } from "./checkpoint-route.ts";
import type { KubeletView } from "./kubelet-view.ts";
import { containerLogRoute } from "./log/container-log-route.ts";
import { nodeLogsRoute } from "./node-logs/node-logs-route.ts";

export interface KubeletRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly clock: Clock;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Paths that `enableDebuggingHandlers: false` takes away; streams are among them. */
const DEBUGGING: ReadonlySet<string> = new Set([
  ...["run", "exec", "attach", "portForward", "containerLogs", "runningpods", "configz"],
]);

export async function answerRoute(
  view: KubeletView,
  { method, path, query, clock, signal }: KubeletRequest,
): Promise<KubeletAnswer> {
  const [root = "", ...parts] = path.split("/").filter((part) => part !== "");
  const { allowDebugging = true, allowSystemLogs = true } = view;
  const isDisabled = !allowDebugging && DEBUGGING.has(root);
  if (isDisabled) return textAnswer(405, "Debug endpoints are disabled.\n");
  if (root === "logs" && !allowSystemLogs) return textAnswer(405, "logs endpoint is disabled.\n");
  if (root === "checkpoint" && method === "POST") {
    return checkpointRoute(view, parts.map(decodeURIComponent), query, clock);
  }
  if (method !== "GET" && method !== "HEAD") return textAnswer(405, "405: Method Not Allowed");
  switch (root) {
    case "healthz":
      return healthAnswer(view);
    case "pods":
      return jsonAnswer(podList(view.pods()));
    case "runningpods":
      return jsonAnswer(podList(view.pods().filter(({ status }) => status?.phase === "Running")));
    case "configz":
      return jsonAnswer({ kubeletconfig: view.configuration() });
    case "containerLogs":
      return containerLogRoute(view, parts.map(decodeURIComponent), query, clock, signal);
    case "stats":
      return parts[0] === "summary" ? summaryAnswer(view, clock) : notFound();
    case "logs": {
      const { logsFolder: folder, allowLogQuery: allowQuery } = view;
      const inside = parts.map(decodeURIComponent);
      return nodeLogsRoute({ folder, parts: inside, query, allowQuery, signal });
    }
    case "metrics":
      return metricsAnswer(view, parts[0], clock);
    default:
      return notFound();
  }
}

async function summaryAnswer(view: KubeletView, clock: Clock): Promise<KubeletAnswer> {
  return jsonAnswer(await readSummary(view, clock, await view.volumeStats()));
}

function healthAnswer(view: KubeletView): KubeletAnswer {
  const fault = view.unhealthy();
  return fault === undefined
    ? textAnswer(200, "ok")
    : textAnswer(500, `[-]syncloop failed: ${fault}`);
}

function notFound(): KubeletAnswer {
  return textAnswer(404, "404: Page Not Found");
}

function podList(items: readonly Pod[]): object {
  return { kind: "PodList", apiVersion: "v1", metadata: {}, items };
}

async function metricsAnswer(
  view: KubeletView,
  which: string | undefined,
  clock: Clock,
): Promise<KubeletAnswer> {
  if (which === undefined) {
    const volumes = volumeMetrics((await view.volumeStats()).values());
    return metricsText(`${view.metrics.text()}${volumes}`);
  }
  if (which === "resource") {
    return metricsText(resourceMetrics(await readSummary(view, clock, new Map())));
  }
  if (which === "cadvisor") return metricsText(await view.cadvisorMetrics());
  if (which === "probes") return metricsText(view.probeMetrics());
  return notFound();
}

function metricsText(text: string): KubeletAnswer {
  return { form: "text", code: 200, text, type: METRICS_TYPE };
}

async function readSummary(
  view: KubeletView,
  clock: Clock,
  volumes: Awaited<ReturnType<KubeletView["volumeStats"]>>,
): Promise<Summary> {
  const { cri, nodeName, rootFolder } = view;
  const [node, rootFilesystem, { stats }, images] = await Promise.all([
    readNodeUsage(),
    filesystemSpace(rootFolder),
    cri.runtime.listContainerStats({}),
    cri.images.imageFsInfo({}).catch(() => undefined),
  ]);
  const used = images?.imageFilesystems[0]?.usedBytes?.value;
  return summaryOf({
    ...{ nodeName, nowMs: clock.nowMs(), node, rootFilesystem, containers: stats },
    pods: view.pods(),
    volumes,
    imageFilesystemUsedBytes: used === undefined ? undefined : Number(used),
  });
}
