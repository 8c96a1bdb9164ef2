/** What is wrong with a kubelet's configuration, in upstream's words. Pure. */
import { formatDuration } from "#api/meta/duration.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { parseQuantity } from "#api/meta/quantity.ts";
import { whyBadUnsafeSysctl } from "#kubelet/decide/node/sysctls.ts";
import { VERIFICATION_POLICIES, whyBadPattern } from "#kubelet/decide/pull-verification.ts";
import { parseCpuSet } from "#kubelet/decide/resources/cpu-set.ts";
import { checkReservations } from "#kubelet/decide/resources/reserved-memory.ts";
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";
import { IDS_PER_POD } from "#kubelet/userns/id-range.ts";
import { messageOf } from "#lib/caught.ts";
import { checkNodeLimits } from "./check-node-limits.ts";

const TOPOLOGY_POLICIES = ["none", "best-effort", "restricted", "single-numa-node"];
const TOPOLOGY_SCOPES = ["container", "pod"];

export function checkKubeletConfig(config: KubeletConfig): string[] {
  return [
    ...checkImages(config),
    ...checkPulls(config),
    ...checkPods(config),
    ...checkReserved(config),
    ...checkShutdown(config),
    ...checkLogs(config),
    ...checkNodeLimits(config),
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

function checkPulls(config: KubeletConfig): string[] {
  const { serializeImagePulls: isSerial, maxParallelImagePulls: most } = config;
  const { imagePullVerificationPolicy: policy, preloadedImagesAllowlist: list } = config;
  const problems: string[] = [];
  if (most !== undefined && most < 1) {
    problems.push(`maxParallelImagePulls ${most} must be a positive number`);
  }
  if (isSerial === true && most !== undefined && most > 1) {
    problems.push(
      "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false",
    );
  }
  if (!VERIFICATION_POLICIES.some((one) => one === policy)) {
    const names = VERIFICATION_POLICIES.map(goQuote);
    const valid = `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
    problems.push(
      `option ${goQuote(policy)} specified for imagePullCredentialsVerificationPolicy. Valid options are ${valid}`,
    );
  }
  const bad = list.map(whyBadPattern).find((why) => why !== undefined);
  if (list.length > 0 && policy !== "NeverVerifyAllowlistedImages") {
    problems.push(
      'can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVertificationPolicy` is not "NeverVerifyAllowlistedImages"',
    );
  } else if (bad !== undefined) {
    problems.push(`invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${bad}`);
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
  const sysctl = whyBadUnsafeSysctl(config.allowedUnsafeSysctls);
  if (sysctl !== undefined) problems.push(sysctl);
  const { userNamespaceIdsPerPod: ids, crashBackoffMaxMs: backoffMs } = config;
  if (ids < IDS_PER_POD) {
    problems.push(`userNamespaces.idsPerPod must not be less than ${IDS_PER_POD}`);
  } else if (ids % IDS_PER_POD !== 0) {
    problems.push(`userNamespaces.idsPerPod must be a multiple of ${IDS_PER_POD}`);
  } else if (ids > 2 ** 32 - 1) {
    problems.push(`userNamespaces.idsPerPod must not be more than ${2 ** 32 - 1}`);
  }
  if (backoffMs < 1_000 || backoffMs > 300_000) {
    problems.push(
      `CrashLoopBackOff.MaxContainerRestartPeriod (got: ${backoffMs / 1000} seconds) must be set between 1s and 300s`,
    );
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

function checkShutdown(config: KubeletConfig): string[] {
  const { shutdownGraceMs, shutdownGraceCriticalMs, shutdownGraceByPriority } = config;
  const problems: string[] = [];
  if (shutdownGraceByPriority.length > 0 && shutdownGraceMs + shutdownGraceCriticalMs > 0) {
    problems.push(
      "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time",
    );
  }
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
