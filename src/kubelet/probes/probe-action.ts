/** Carries out one probe: exec, HTTP, TCP or gRPC. */
import { connect } from "node:net";
import type { Container, Probe } from "#api/generated/core.v1.ts";
import type { RuntimeService } from "#kubelet/cri/cri-client.ts";
import { TimeoutError, withTimeout } from "#lib/async/sleep.ts";
import { messageOf } from "#lib/caught.ts";
import { GrpcClient } from "#lib/grpc/grpc-client.ts";
import { GRPC_CODES, GrpcError } from "#lib/grpc/grpc-status.ts";
import { message } from "#lib/protobuf/message.ts";
import type { Clock } from "#lib/time/clock.ts";
import { dialWords, httpGet, httpTarget, portNumber } from "./http-get.ts";

const OUTPUT_MAX = 10 * 1024;

export interface ProbeAnswer {
  /** `error`: the runtime could not be asked; that says nothing of the container. */
  readonly outcome: "success" | "failure" | "warning" | "error";
  readonly output: string;
}

export interface ProbeTarget {
  readonly container: Container;
  readonly containerId: string;
  readonly podIp: string;
}

export interface ProbeTools {
  readonly clock: Clock;
  readonly runtime: Pick<RuntimeService, "execSync">;
}

/** Never rejects but when the signal aborts: a server that cannot be asked has failed. */
export async function runProbe(
  probe: Probe,
  target: ProbeTarget,
  tools: ProbeTools,
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  const timeoutSeconds = probe.timeoutSeconds ?? 1;
  const timeoutMs = timeoutSeconds * 1000;
  try {
    if (probe.exec)
      return await execProbe(probe.exec.command ?? [], target, tools, timeoutSeconds, signal);
    return await withTimeout(
      tools.clock,
      timeoutMs,
      (own) => networkProbe(probe, target, timeoutMs, own),
      signal,
    );
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return failure(timeoutWords(error, probe, target, timeoutMs));
  }
}

function networkProbe(
  probe: Probe,
  target: ProbeTarget,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  if (probe.httpGet) return httpProbe(probe.httpGet, target, signal);
  if (probe.tcpSocket) {
    const { host, port } = probe.tcpSocket;
    return tcpProbe(host || target.podIp, portNumber(port, target.container), signal);
  }
  if (probe.grpc) return grpcProbe(target.podIp, probe.grpc, timeoutMs, signal);
  return Promise.resolve(failure("missing probe handler"));
}

async function execProbe(
  cmd: readonly string[],
  { containerId }: ProbeTarget,
  { runtime }: ProbeTools,
  timeout: number,
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  try {
    const { exitCode, stdout, stderr } = await runtime.execSync(
      { containerId, cmd, timeout },
      { signal, timeoutMs: timeout * 1000 + 30_000 },
    );
    const output = Buffer.concat([stdout, stderr]).subarray(0, OUTPUT_MAX).toString("utf8");
    return { outcome: exitCode === 0 ? "success" : "failure", output };
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof GrpcError && error.code === GRPC_CODES.DEADLINE_EXCEEDED) {
      return failure(`command timed out: "${cmd.join(" ")}" timed out after ${timeout}s`);
    }
    return { outcome: "error", output: messageOf(error) };
  }
}

async function httpProbe(
  action: NonNullable<Probe["httpGet"]>,
  { container, podIp }: ProbeTarget,
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  const target = httpTarget(action, container, podIp, "probe");
  const { status, body, isForeignRedirect } = await httpGet(target, signal);
  if (isForeignRedirect) {
    return { outcome: "warning", output: `Probe terminated redirects, Response body: ${body}` };
  }
  if (status >= 200 && status < 400) return { outcome: "success", output: body };
  return failure(`HTTP probe failed with statuscode: ${status}`);
}

function tcpProbe(host: string, port: number, signal: AbortSignal): Promise<ProbeAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const stop = (): void => {
      socket.destroy();
      reject(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
    const end = (answer: ProbeAnswer): void => {
      signal.removeEventListener("abort", stop);
      socket.destroy();
      resolve(answer);
    };
    socket.on("connect", () => end({ outcome: "success", output: "" }));
    socket.on("error", (error) => end(failure(dialWords(error))));
  });
}

const healthCheck = {
  path: "/grpc.health.v1.Health/Check",
  request: message({ service: [1, "text"] }),
  response: message({ status: [1, "int"] }),
} as const;
const SERVING = 1;

async function grpcProbe(
  podIp: string,
  { port, service }: NonNullable<Probe["grpc"]>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  const host = podIp.includes(":") ? `[${podIp}]` : podIp;
  using client = new GrpcClient(`${host}:${port}`);
  try {
    const { status } = await client.call(
      healthCheck,
      { service: service ?? "" },
      { timeoutMs, signal },
    );
    if (status === SERVING) return { outcome: "success", output: `service healthy` };
    return failure(`service unhealthy (responded with "NOT_SERVING")`);
  } catch (error) {
    if (!(error instanceof GrpcError)) throw error;
    if (error.code === GRPC_CODES.UNIMPLEMENTED) {
      return failure(
        `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${error.message}`,
      );
    }
    if (error.code === GRPC_CODES.DEADLINE_EXCEEDED) {
      return failure(`timeout: health rpc did not complete within ${timeoutMs / 1000}s`);
    }
    return failure(
      `timeout: failed to connect service "${host}:${port}" within ${timeoutMs / 1000}s: ${error.message}`,
    );
  }
}

function timeoutWords(
  error: unknown,
  probe: Probe,
  target: ProbeTarget,
  timeoutMs: number,
): string {
  if (!(error instanceof TimeoutError)) return messageOf(error);
  if (probe.httpGet) {
    const { url } = httpTarget(probe.httpGet, target.container, target.podIp, "probe");
    return `Get "${url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`;
  }
  if (probe.tcpSocket) {
    const port = portNumber(probe.tcpSocket.port, target.container);
    return `dial tcp ${probe.tcpSocket.host || target.podIp}:${port}: i/o timeout`;
  }
  return `timeout: no answer within ${timeoutMs / 1000}s`;
}

function failure(output: string): ProbeAnswer {
  return { outcome: "failure", output: output.slice(0, OUTPUT_MAX) };
}
