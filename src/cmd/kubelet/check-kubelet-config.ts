/** What is wrong with a kubelet's configuration, in upstream's words. Pure. */
import { formatDuration } from "#api/meta/duration.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { parseQuantity } from "#api/meta/quantity.ts";
import { parseCpuSet } from "#kubelet/decide/resources/cpu-set.ts";
import { checkReservations } from "#kubelet/decide/resources/reserved-memory.ts";
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";
import { messageOf } from "#lib/caught.ts";

const TOPOLOGY_POLICIES = ["none", "best-effort", "restricted", "single-numa-node"];
const TOPOLOGY_SCOPES = ["container", "pod"];

export function checkKubeletConfig(config: KubeletConfig): string[] {
  return [
    ...checkImages(config),
    ...checkPods(config),
    ...checkReserved(config),
    ...checkShutdown(config),
    ...checkLogs(config),
  ].map((why) => `invalid configuration: ${why}`);
}

function checkImages(config: KubeletConfig): string[] {
  const { imageGcHighPercent: high, imageGcLowPercent: low } = config;
  const { imageMinimumGcAgeMs: youngest, imageMaximumGcAgeMs: oldest } = config;
  const problems: string[] = [];
  const isPercent = (value: number): boolean => value >= 0 && value <= 100;
  if (!isPercent(high)) {
    problems.push(
      `imageGCHighThresholdPercent (--image-gc-high-threshold) ${high} must be between 0 and 100, inclusive`,
    );
  }
  if (!isPercent(low)) {
    problems.push(
      `imageGCLowThresholdPercent (--image-gc-low-threshold) ${low} must be between 0 and 100, inclusive`,
    );
  }
  if (low >= high) {
    problems.push(
      `imageGCLowThresholdPercent (--image-gc-low-threshold) ${low} must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) ${high}`,
    );
  }
  if (youngest < 0) problems.push(`imageMinimumGCAge ${text(youngest)} must not be negative`);
  if (oldest < 0) problems.push(`imageMaximumGCAge ${text(oldest)} must not be negative`);
  if (oldest > 0 && oldest <= youngest) {
    problems.push(
      `imageMaximumGCAge ${text(oldest)} must be greater than imageMinimumGCAge ${text(youngest)}`,
    );
  }
  return problems;
}

function checkPods(config: KubeletConfig): string[] {
  const { leaseDurationSeconds, maxPods, port, topologyManagerPolicy, topologyManagerScope } =
    config;
  const problems: string[] = [];
  if (leaseDurationSeconds <= 0) problems.push("nodeLeaseDurationSeconds must be greater than 0");
  if (maxPods < 0) problems.push(`maxPods (--max-pods) ${maxPods} must not be a negative number`);
  if (port < 0 || port > 65_535) {
    problems.push(`port (--port) ${port} must be between 1 and 65535, inclusive`);
  }
  if (!TOPOLOGY_POLICIES.includes(topologyManagerPolicy)) {
    problems.push(
      `topologyManagerPolicy (--topology-manager-policy) ${goQuote(topologyManagerPolicy)} must be one of: [${TOPOLOGY_POLICIES.map(goQuote).join(" ")}]`,
    );
  }
  if (!TOPOLOGY_SCOPES.includes(topologyManagerScope)) {
    problems.push(
      `topologyManagerScope (--topology-manager-scope) ${goQuote(topologyManagerScope)} must be one of: "container", or "pod"`,
    );
  }
  return problems;
}

function checkReserved({ reservedSystemCpus, reservedMemory }: KubeletConfig): string[] {
  const problems = checkReservations(reservedMemory);
  try {
    parseCpuSet(reservedSystemCpus);
  } catch (error) {
    problems.unshift(
      `unable to parse reservedSystemCPUs (--reserved-cpus) ${reservedSystemCpus}, error: ${messageOf(error)}`,
    );
  }
  return problems;
}

function checkShutdown({ shutdownGraceMs, shutdownGraceCriticalMs }: KubeletConfig): string[] {
  const problems: string[] = [];
  const [all, critical] = [`{${text(shutdownGraceMs)}}`, `{${text(shutdownGraceCriticalMs)}}`];
  const isTooShort = (ms: number): boolean => ms < 0 || (ms > 0 && ms < 1000);
  if (shutdownGraceCriticalMs > shutdownGraceMs) {
    problems.push(
      `shutdownGracePeriodCriticalPods ${critical} must be <= shutdownGracePeriod ${all}`,
    );
  }
  if (isTooShort(shutdownGraceMs)) {
    problems.push(`shutdownGracePeriod ${all} must be either zero or otherwise >= 1 sec`);
  }
  if (isTooShort(shutdownGraceCriticalMs)) {
    problems.push(
      `shutdownGracePeriodCriticalPods ${critical} must be either zero or otherwise >= 1 sec`,
    );
  }
  return problems;
}

function checkLogs(config: KubeletConfig): string[] {
  const { containerLogMaxFiles, containerLogMaxSize, containerLogMonitorMs, podLogsDir } = config;
  const problems: string[] = [];
  const size = parseQuantity(containerLogMaxSize);
  if (!size.ok) {
    problems.push(
      `failed to parse container log max size ${goQuote(containerLogMaxSize)}: ${size.error}`,
    );
  }
  if (containerLogMonitorMs < 3_000) {
    problems.push(
      "containerLogMonitorInterval must be a positive time duration greater than or equal to 3s",
    );
  }
  if (containerLogMaxFiles <= 1) problems.push("containerLogMaxFiles must be greater than 1");
  if (podLogsDir === "") problems.push("podLogsDir was not specified");
  else if (!podLogsDir.startsWith("/")) {
    problems.push(`pod logs path ${goQuote(podLogsDir)} must be absolute path`);
  }
  return problems;
}

function text(ms: number): string {
  return formatDuration(BigInt(Math.round(ms * 1e6)));
}
