/**
 * The kubelet server of all simulated nodes: logs, pods, stats and metrics; exec, attach and
 * port-forward are refused with the reason.
 *
 * Promises:
 * 1. Every request is authenticated and authorized as on a real node.
 * 2. Without a fixed address it answers on loopback addresses only.
 * 3. When the signal aborts, it stops listening and ends its connections.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Pod } from "#api/generated/core.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import type { Client } from "#client/client.ts";
import { Access } from "#kubelet/server/access/access.ts";
import { jsonAnswer, type KubeletAnswer, textAnswer } from "#kubelet/server/answer.ts";
import { credentialsOf, sendAnswer, targetOf } from "#kubelet/server/kubelet-server.ts";
import { hasContainer, logContainer } from "#kubelet/server/log/log-container.ts";
import { parseLogOptions } from "#kubelet/server/log/log-options.ts";
import { refuse } from "#kubelet/server/streams/join-runtime.ts";
import { resourceMetrics } from "#kubelet/stats/resource-metrics.ts";
import { messageOf } from "#lib/caught.ts";
import { startHttpServer } from "#lib/http/start-http-server.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type BehaviourRule, behaviourOf } from "./behaviour.ts";
import { containerLogText } from "./container-log.ts";
import { nodeIndex } from "./node-address.ts";
import type { SimulatedNode, SimulatedNodes } from "./simulated-nodes.ts";
import type { SimulatedPods } from "./simulated-pods.ts";
import { simulatedSummary } from "./simulated-summary.ts";

const LIMITS = { connectionsMax: 2_000, headersWithinMs: 30_000, requestWithinMs: 300_000 };
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export interface SimulatedServing {
  /** One address that all nodes share; undefined: each node has a loopback address of its own. */
  readonly address: string | undefined;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string };
  /** PEM of the authorities whose client certificates are believed. */
  readonly clientCa: string | undefined;
}

export interface SimulatedServerParts {
  readonly serving: SimulatedServing;
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly rules: readonly BehaviourRule[];
  nodes(): SimulatedNodes;
  pods(): SimulatedPods;
}

export interface SimulatedServer {
  readonly port: number;
  readonly closed: Promise<void>;
}

export async function startSimulatedServer(
  parts: SimulatedServerParts,
  signal: AbortSignal,
): Promise<SimulatedServer> {
  const { tls, clientCa, port, address } = parts.serving;
  const access = new Access({
    ...{ nodeName: "", client: parts.client, clock: parts.clock, tokens: true },
    ...{ anonymous: false, authorization: "Webhook" },
  });
  const answering = { ...parts, access };
  const ca = clientCa === undefined ? {} : { ca: clientCa };
  return await startHttpServer(
    {
      at: { host: address ?? "0.0.0.0", port },
      // Tokens remain for clients without a certificate.
      tls: { ...tls, ...ca, clientCertificates: clientCa === undefined ? "ignored" : "optional" },
      limits: LIMITS,
      accepts: ({ localAddress = "" }) =>
        address !== undefined || nodeIndex(localAddress) !== undefined,
      request: (message, reply) => void answer(answering, message, reply),
      upgrade: (message, socket) => void refuseStream(answering, message, socket),
    },
    signal,
  );
}

type Answering = SimulatedServerParts & { readonly access: Access };

async function answer(
  parts: Answering,
  message: IncomingMessage,
  reply: ServerResponse,
): Promise<void> {
  const { method = "GET", path } = targetOf(message);
  try {
    const decision = await parts.access.decide(credentialsOf(message), method, path);
    if (!decision.allowed) {
      return await sendAnswer(reply, textAnswer(decision.code, decision.message));
    }
    await sendAnswer(reply, route(parts, message));
  } catch (error) {
    parts.logger.warn("kubelet server of simulated nodes: request failed", { path, error });
    if (reply.headersSent) reply.destroy();
    else await sendAnswer(reply, textAnswer(500, messageOf(error)));
  }
}

async function refuseStream(
  { access }: Answering,
  message: IncomingMessage,
  socket: Duplex,
): Promise<void> {
  socket.on("error", () => socket.destroy());
  const { method = "GET", path } = targetOf(message);
  const decision = await access
    .decide(credentialsOf(message), method, path)
    .catch((error: unknown) => ({ allowed: false, code: 500, message: messageOf(error) }) as const);
  if (!decision.allowed) return refuse(socket, decision.code, decision.message);
  const [action = "stream"] = path.split("/").filter((part) => part !== "");
  const why = `${action}: the pod runs on a simulated node, there is no container to connect to`;
  refuse(socket, 400, why);
}

function route(parts: Answering, message: IncomingMessage): KubeletAnswer {
  const { path, query, method = "GET" } = targetOf(message);
  const [root = "", ...rest] = path.split("/").filter((part) => part !== "");
  if (method !== "GET" && method !== "HEAD") {
    return textAnswer(400, "the pod runs on a simulated node, there is no container to connect to");
  }
  if (root === "healthz") return textAnswer(200, "ok");
  if (root === "containerLogs") return containerLog(parts, rest.map(decodeURIComponent), query);
  const node = nodeOf(parts, message.socket as TLSSocket);
  if (node === undefined) {
    return textAnswer(404, "simulated nodes that share an address cannot be distinguished here\n");
  }
  const pods = [...parts.pods().ofNode(node.node.metadata.name ?? "")];
  switch (root) {
    case "pods":
      return jsonAnswer({ kind: "PodList", apiVersion: "v1", metadata: {}, items: pods });
    case "stats":
      return rest[0] === "summary" ? jsonAnswer(summaryOf(parts, node, pods)) : notFound();
    case "metrics": {
      if (rest[0] !== "resource") return notFound();
      const text = resourceMetrics(summaryOf(parts, node, pods));
      return { form: "text", code: 200, text, type: METRICS_TYPE };
    }
    default:
      return notFound();
  }
}

function notFound(): KubeletAnswer {
  return textAnswer(404, "404: Page Not Found");
}

/** By the address that the connection came to; the only node when there is one. */
function nodeOf(parts: Answering, { localAddress = "" }: TLSSocket): SimulatedNode | undefined {
  return parts.nodes().byIndex(nodeIndex(localAddress) ?? -1);
}

function summaryOf({ clock, rules }: Answering, { node }: SimulatedNode, pods: readonly Pod[]) {
  const { name = "", creationTimestamp } = node.metadata;
  const described = pods.map((pod) => ({ pod, behaviour: behaviourOf(pod, rules).behaviour }));
  return simulatedSummary(name, creationTimestamp ?? "", described, clock.nowMs());
}

function containerLog(
  parts: Answering,
  [namespace = "", name = "", container = ""]: readonly string[],
  query: URLSearchParams,
): KubeletAnswer {
  const parsed = parseLogOptions(query, parts.clock.nowMs());
  if (!parsed.ok) return jsonAnswer({ message: parsed.message }, parsed.code);
  const pod = parts.pods().get(namespace, name);
  if (pod === undefined) return textAnswer(404, `pod ${goQuote(name)} does not exist\n`);
  if (!hasContainer(pod, container)) {
    return textAnswer(404, `container ${goQuote(container)} not found in pod ${goQuote(name)}\n`);
  }
  const chosen = logContainer(pod, container, parsed.options.previous);
  if (!chosen.ok) return textAnswer(400, chosen.message);
  const { logs } = behaviourOf(pod, parts.rules).behaviour;
  return textAnswer(200, containerLogText(pod, container, logs, parsed.options));
}
