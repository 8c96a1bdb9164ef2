/**
 * Exec and logs through the kubelet's server. Exec beside the same stream to the runtime's own
 * server: one CRI call for its address and one WebSocket. Logs beside a bare HTTPS server that sends as
 * many bytes, by turns. Runs inside the node's network.
 *
 * containerd answers one exec in 14 ms and the next in 25, whoever asks, as long as they come one right
 * after the other. So which of the two comes first changes every round, and a median would fall into the
 * gap between the two: the mean of the middle half is taken.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { request as plainRequest, type RequestOptions } from "node:http";
import { Agent, request as tlsRequest } from "node:https";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { createCriClient } from "#kubelet/cri/cri-client.ts";
import { CONTAINER_NAME, POD_NAME } from "#kubelet/runtime/labels.ts";

const KUBELET = "https://127.0.0.1:10250";
const LOG_ROUNDS = 3;

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
  readonly bareLogMbPerSecond: number;
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
  const viaKubelet = async (): Promise<void> => {
    exec.push(await timed(() => stream(byKubelet, { agent })));
  };
  const viaRuntime = async (): Promise<void> => {
    const oneMs = await timed(async () => {
      const { url } = await cri.runtime.exec({ containerId, cmd, stdout: true });
      await stream(url, {});
    });
    bare.push(oneMs);
  };
  await viaKubelet(); // warms up
  await viaRuntime();
  exec.length = 0;
  bare.length = 0;
  for (let round = 0; round < rounds; round++) {
    const kubeletFirst = round % 2 === 0;
    await (kubeletFirst ? viaKubelet() : viaRuntime());
    await (kubeletFirst ? viaRuntime() : viaKubelet());
  }
  const logs = await logTimes(`${KUBELET}/containerLogs/default/${talker}/main`, agent);
  agent.destroy();
  return { execMs: midMean(exec), bareExecMs: midMean(bare), ...logs };
}

async function logTimes(
  log: string,
  agent: Agent,
): Promise<Pick<StreamTimes, "logMb" | "logMbPerSecond" | "bareLogMbPerSecond">> {
  const bytes = await download(log, agent); // warms up
  const bare = await startBareServer(bytes);
  try {
    const logMs: number[] = [];
    const bareMs: number[] = [];
    for (let round = 0; round < LOG_ROUNDS; round++) {
      logMs.push(await timed(() => download(log, agent)));
      bareMs.push(await timed(() => download(bare.url, agent)));
    }
    return {
      logMb: bytes / 1e6,
      logMbPerSecond: bytes / 1e3 / median(logMs),
      bareLogMbPerSecond: bytes / 1e3 / median(bareMs),
    };
  } finally {
    bare.child.kill();
  }
}

async function startBareServer(
  bytes: number,
): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const script = fileURLToPath(new URL("bare-log-server.ts", import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, script, String(bytes)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the bare server ended with ${code}`)));
    child.stdout?.once("data", (line: Buffer) => resolve(Number(line.toString())));
  });
  return { url: `https://127.0.0.1:${port}/`, child };
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

/** The mean of the middle half. */
function midMean(values: readonly number[]): number {
  const quarter = Math.floor(values.length / 4);
  const middle = [...values].sort((a, b) => a - b).slice(quarter, values.length - quarter);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
