/** What is wrong with the numbers and choices of a kubelet's configuration, in upstream's words. Pure. */
import { formatDuration } from "#api/meta/duration.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";

const ENFORCEMENTS = [
  ...["pods", "system-reserved", "kube-reserved"],
  ...["system-reserved-compressible", "kube-reserved-compressible", "none"],
];

export function checkNodeLimits(config: KubeletConfig): string[] {
  const { healthzPort, oomScoreAdj, podsPerCore, nodeStatusMaxImages, swapBehavior } = config;
  const { cpuCfsQuotaPeriodMs: periodMs, runtimeEndpoint } = config;
  const problems: string[] = [];
  if (healthzPort < 0 || healthzPort > 65_535) {
    problems.push(
      `healthzPort (--healthz-port) ${healthzPort} must be between 1 and 65535, inclusive`,
    );
  }
  if (periodMs < 1 || periodMs > 1_000) {
    const text = formatDuration(BigInt(Math.round(periodMs * 1e6)));
    problems.push(
      `cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {${text}} must be between 1ms and 1sec, inclusive`,
    );
  }
  if (nodeStatusMaxImages < -1) {
    problems.push(
      `nodeStatusMaxImages (--node-status-max-images) ${nodeStatusMaxImages} must be -1 or greater`,
    );
  }
  if (oomScoreAdj < -1_000 || oomScoreAdj > 1_000) {
    problems.push(
      `oomScoreAdj (--oom-score-adj) ${oomScoreAdj} must be between -1000 and 1000, inclusive`,
    );
  }
  if (podsPerCore < 0) {
    problems.push(`podsPerCore (--pods-per-core) ${podsPerCore} must not be a negative number`);
  }
  if (!["", "NoSwap", "LimitedSwap"].includes(swapBehavior)) {
    problems.push(
      `memorySwap.swapBehavior ${goQuote(swapBehavior)} must be one of: "", "LimitedSwap" or "NoSwap"`,
    );
  }
  if (runtimeEndpoint === "") {
    problems.push("the containerRuntimeEndpoint was not specified or empty");
  }
  if (config.enableSystemLogQuery && !config.enableSystemLogHandler) {
    problems.push("enableSystemLogHandler is required for enableSystemLogQuery");
  }
  return [...problems, ...checkEnforcements(config)];
}

function checkEnforcements(config: KubeletConfig): string[] {
  const { enforceNodeAllocatable: keys, systemReservedCgroup, kubeReservedCgroup } = config;
  const flag = "enforceNodeAllocatable (--enforce-node-allocatable)";
  const problems: string[] = [];
  for (const [i, key] of keys.entries()) {
    if (keys.indexOf(key) < i) problems.push(`duplicated enforcements ${goQuote(key)} in ${flag}`);
    else if (!ENFORCEMENTS.includes(key)) {
      const names = ENFORCEMENTS.map(goQuote);
      const valid = `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
      problems.push(`option ${goQuote(key)} specified for ${flag}. Valid options are ${valid}`);
    } else if (key === "none" && keys.length > 1) {
      problems.push(`${flag} may not contain additional enforcements when "none" is specified`);
    }
  }
  for (const [sort, cgroup] of [
    ["system", systemReservedCgroup],
    ["kube", kubeReservedCgroup],
  ] as const) {
    const [hard, compressible] = [`${sort}-reserved`, `${sort}-reserved-compressible`];
    const uses = keys.filter((key) => key === hard || key === compressible);
    if (uses.length > 1) {
      problems.push(
        `both ${goQuote(hard)} and ${goQuote(compressible)} cannot be specified together in ${flag}`,
      );
    }
    if (uses.length > 0 && cgroup === "") {
      problems.push(
        `${sort}ReservedCgroup (--${sort}-reserved-cgroup) must be specified when ${goQuote(hard)} or ${goQuote(compressible)} included in ${flag}`,
      );
    }
  }
  if (config.reservedSystemCpus !== "" && systemReservedCgroup + kubeReservedCgroup !== "") {
    problems.push(
      "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
    );
  }
  return problems;
}
