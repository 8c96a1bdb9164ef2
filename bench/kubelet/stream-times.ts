/**
 * Exec and logs through the kubelet's server. Exec beside the same stream to the runtime's own
 * server: one CRI call for its address and one WebSocket. Runs inside the node's network.
 */
import { request as plainRequest, type RequestOptions } from "node:http";
import { Agent, request as tlsRequest } from "node:https";
import type { Duplex } from "node:stream";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { createCriClient } from "#kubelet/cri/cri-client.ts";
import { CONTAINER_NAME, POD_NAME } from "#kubelet/runtime/labels.ts";

const KUBELET = "https://127.0.0.1:10250";

export interface StreamTimesSettings {
  readonly kubeconfig: string;
  readonly endpoint: string;
  /** A pod of the namespace default that runs, and one whose log is long. */
  readonly pod: string;
  readonly talker: string;
  readonly rounds: number;
}

export interface StreamTimes {
  readonly execMs: number;
  readonly bareExecMs: number;
  readonly logMbPerSecond: number;
  readonly logMb: number;
}

export async function streamTimes(settings: StreamTimesSettings): Promise<StreamTimes> {
  const { kubeconfig, endpoint, pod, talker, rounds } = settings;
  const { clientCertificate: cert, clientKey: key } = connectionFromFile(kubeconfig);
  // The kubelet's certificate is its own; connections are kept, as the API server keeps them.
  const agent = new Agent({ keepAlive: true, cert, key, rejectUnauthorized: false });
  using cri = createCriClient({ endpoint });
  const { containers } = await cri.runtime.listContainers({
    filter: { labelSelector: { [POD_NAME]: pod, [CONTAINER_NAME]: "main" } },
  });
  const containerId = containers[0]?.id ?? "";
  const cmd = ["true"];
  const byKubelet = `${KUBELET}/exec/default/${pod}/main?command=true&output=1`;
  const exec: number[] = [];
  const bare: number[] = [];
  for (let round = -1; round < rounds; round++) {
    const viaMs = await timed(() => stream(byKubelet, { agent }));
    const bareMs = await timed(async () => {
      const { url } = await cri.runtime.exec({ containerId, cmd, stdout: true });
      await stream(url, {});
    });
    if (round < 0) continue; // warms up
    exec.push(viaMs);
    bare.push(bareMs);
  }
  const log = `${KUBELET}/containerLogs/default/${talker}/main`;
  await download(`${log}?limitBytes=1`, agent);
  let bytes = 0;
  const logMs = await timed(async () => {
    bytes = await download(log, agent);
  });
  agent.destroy();
  return {
    ...{ execMs: median(exec), bareExecMs: median(bare), logMb: bytes / 1e6 },
    logMbPerSecond: bytes / 1e3 / logMs,
  };
}

/** Resolves when the other end has closed the WebSocket. */
function stream(url: string, options: RequestOptions): Promise<void> {
  const send = url.startsWith("https:") ? tlsRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const asked = send(url, {
      ...options,
      headers: {
        ...{ connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" },
        "sec-websocket-key": Buffer.alloc(16, 1).toString("base64"),
        "sec-websocket-protocol": "v4.channel.k8s.io",
      },
    });
    asked.on("error", reject);
    asked.on("response", ({ statusCode }) => reject(new Error(`${url}: status ${statusCode}`)));
    asked.on("upgrade", (_response, socket: Duplex) => {
      socket.on("error", () => undefined);
      socket.on("data", () => undefined);
      socket.on("end", () => socket.end());
      socket.on("close", () => resolve());
    });
    asked.end();
  });
}

function download(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = tlsRequest(url, { agent }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on("end", () =>
        response.statusCode === 200
          ? resolve(bytes)
          : reject(new Error(`${url}: status ${response.statusCode}`)),
      );
    });
    asked.on("error", reject);
    asked.end();
  });
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
