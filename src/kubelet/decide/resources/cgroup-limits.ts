/** Amounts of cpu and memory in the terms of cgroups. */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { qosClassOf } from "#api/kinds/core/v1/pod/qos.ts";
import { quantityMilliValue, quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { podLimits, podRequests } from "#api/quota/pod-amounts.ts";
import { isSidecar } from "../restart.ts";

const SHARES_MIN = 2;
const SHARES_MAX = 262_144;
const QUOTA_MIN_US = 1_000;
const GUARANTEED_OOM_SCORE = -997;
const BEST_EFFORT_OOM_SCORE = 1_000;
const NODE_CRITICAL_PRIORITY = 2_000_001_000;

export interface CpuAndMemory {
  readonly cpuShares: number;
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  readonly memoryLimitBytes?: number;
}

export interface ContainerLimits extends CpuAndMemory {
  readonly oomScoreAdj: number;
}

/** How limits of cpu are enforced. */
export interface CfsQuota {
  readonly isEnforced: boolean;
  readonly periodUs: number;
}

const DEFAULT_CFS: CfsQuota = { isEnforced: true, periodUs: 100_000 };

function sharesOf(milliCpu: number): number {
  if (milliCpu === 0) return SHARES_MIN;
  return Math.min(SHARES_MAX, Math.max(SHARES_MIN, Math.floor((milliCpu * 1024) / 1000)));
}

/** 0: no quota. */
function quotaOf(milliCpu: number, { isEnforced, periodUs }: CfsQuota): number {
  if (milliCpu === 0 || !isEnforced) return 0;
  return Math.max(QUOTA_MIN_US, Math.floor((milliCpu * periodUs) / 1000));
}

export function containerLimits(
  pod: Pod,
  container: Container,
  memoryCapacityBytes: number,
  cfs: CfsQuota = DEFAULT_CFS,
): ContainerLimits {
  const { requests = {}, limits = {} } = container.resources ?? {};
  const cpuLimit = milli(limits.cpu ?? pod.spec.resources?.limits?.cpu);
  const memoryLimit = bytes(limits.memory ?? pod.spec.resources?.limits?.memory);
  const cpuRequest = requests.cpu === undefined ? cpuLimit : milli(requests.cpu);
  const quota = quotaOf(cpuLimit, cfs);
  return {
    cpuShares: sharesOf(cpuRequest),
    ...(quota === 0 ? {} : { cpuQuotaUs: quota }),
    cpuPeriodUs: cfs.periodUs,
    ...(memoryLimit === 0 ? {} : { memoryLimitBytes: memoryLimit }),
    oomScoreAdj: oomScoreAdj(pod, container, memoryCapacityBytes),
  };
}

/** The cgroup of the whole pod. */
export function podCgroupLimits(pod: Pod, cfs: CfsQuota = DEFAULT_CFS): CpuAndMemory {
  const qos = qosClassOf(pod.spec);
  if (qos === "BestEffort") return { cpuShares: SHARES_MIN };
  const requests = podRequests(pod);
  const limits = podLimits(pod);
  const overhead = pod.spec.overhead ?? {};
  const cpuShares = sharesOf(milli(requests.cpu) + milli(overhead.cpu));
  const all = [
    ...(pod.spec.initContainers ?? []).filter(isSidecar),
    ...(pod.spec.containers ?? []),
  ];
  const isDeclared = (name: string): boolean =>
    pod.spec.resources?.limits?.[name] !== undefined ||
    all.every(({ resources }) => quantityValue(quantityOf(resources?.limits?.[name] ?? "0")) > 0);
  return {
    cpuShares,
    ...(isDeclared("cpu")
      ? {
          cpuQuotaUs: quotaOf(milli(limits.cpu) + milli(overhead.cpu), cfs),
          cpuPeriodUs: cfs.periodUs,
        }
      : {}),
    ...(isDeclared("memory")
      ? { memoryLimitBytes: bytes(limits.memory) + bytes(overhead.memory) }
      : {}),
  };
}

/** The cgroup of all pods: amounts of the node without what is reserved for the system. */
export function nodeCgroupLimits(amounts: Readonly<Record<string, string>>): CpuAndMemory {
  const memoryLimitBytes = bytes(amounts.memory);
  return { cpuShares: sharesOf(milli(amounts.cpu)), memoryLimitBytes };
}

function oomScoreAdj(pod: Pod, container: Container, memoryCapacityBytes: number): number {
  if ((pod.spec.priority ?? 0) >= NODE_CRITICAL_PRIORITY) return GUARANTEED_OOM_SCORE;
  const qos = qosClassOf(pod.spec);
  if (qos === "Guaranteed") return GUARANTEED_OOM_SCORE;
  if (qos === "BestEffort") return BEST_EFFORT_OOM_SCORE;
  const scoreOf = (memory: number): number =>
    1000 - Math.trunc((1000 * memory) / memoryCapacityBytes);
  const requestOf = ({ resources }: Container): number => bytes(resources?.requests?.memory);
  let score = scoreOf(requestOf(container));
  const isInit = (pod.spec.initContainers ?? []).some(({ name }) => name === container.name);
  if (isInit && isSidecar(container)) {
    const least = Math.min(...(pod.spec.containers ?? []).map(requestOf));
    score = Math.min(score, scoreOf(least));
  }
  const burstableMin = 1000 + GUARANTEED_OOM_SCORE;
  return Math.min(BEST_EFFORT_OOM_SCORE - 1, Math.max(burstableMin, score));
}

function milli(text: string | undefined): number {
  return text === undefined ? 0 : quantityMilliValue(quantityOf(text));
}

function bytes(text: string | undefined): number {
  return text === undefined ? 0 : quantityValue(quantityOf(text));
}
