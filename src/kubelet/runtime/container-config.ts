/** A container as the runtime is asked for it. */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import type { Mount, UserNamespace } from "#kubelet/cri/common-messages.ts";
import type { ContainerConfig, Device } from "#kubelet/cri/container-messages.ts";
import { expand } from "#kubelet/decide/inputs/expand.ts";
import { type CfsQuota, containerLimits } from "#kubelet/decide/resources/cgroup-limits.ts";
import { type SwapLimits, type SwapSettings, swapLimits } from "#kubelet/decide/resources/swap.ts";
import { containerAnnotations, containerLabels } from "./labels.ts";
import { containerSecurityContext, type ImageUser } from "./security-context.ts";
import { stopSignalNumber } from "./stop-signals.ts";

/** Where a container may run. */
export interface Placement {
  /** `0-3`; undefined: anywhere. */
  readonly cpus: string | undefined;
  /** NUMA nodes of its memory; undefined: all. */
  readonly mems: string | undefined;
  /** Its CPUs are its own: a quota would only slow it down. */
  readonly hasOwnCpus: boolean;
}

export interface ContainerOptions {
  readonly pod: Pod;
  readonly container: Container;
  readonly restartCount: number;
  readonly imageRef: string;
  readonly imageUser: ImageUser;
  readonly env: ReadonlyMap<string, string>;
  readonly mounts: readonly Mount[];
  readonly devices: readonly Device[];
  /** Of plug-ins, beside the kubelet's own. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly cdiDevices: readonly string[];
  /** Of an ephemeral container. */
  readonly targetId: string | undefined;
  /** Of the pod's sandbox. */
  readonly userNamespace: UserNamespace | undefined;
  readonly memoryCapacityBytes: number;
  readonly cfs: CfsQuota;
  readonly swap: SwapSettings;
  readonly singleProcessOomKill: boolean;
  readonly placement: Placement;
  readonly cgroupVersion: 1 | 2;
  readonly seccompRoot: string;
  readonly seccompDefault: boolean;
}

export function containerConfig(options: ContainerOptions): ContainerConfig {
  const { pod, container, restartCount, imageRef, env, mounts } = options;
  const lookUp = (name: string): string | undefined => env.get(name);
  const limits = containerLimits(pod, container, options.memoryCapacityBytes, options.cfs);
  const swap = swapLimits(pod, container, limits.memoryLimitBytes, options.swap);
  const stopSignal = container.lifecycle?.stopSignal;
  return {
    metadata: { name: container.name, attempt: restartCount },
    image: { image: imageRef, userSpecifiedImage: container.image ?? "" },
    command: (container.command ?? []).map((part) => expand(part, lookUp)),
    args: (container.args ?? []).map((part) => expand(part, lookUp)),
    workingDir: container.workingDir ?? "",
    envs: [...env].map(([key, value]) => ({ key, value: Buffer.from(value) })),
    mounts: mounts.map((mount) => ({ ...mount, ...idMappingsOf(options.userNamespace) })),
    devices: options.devices,
    labels: containerLabels(pod, container),
    annotations: {
      ...options.annotations,
      ...containerAnnotations(pod, container, restartCount),
    },
    cdiDevices: options.cdiDevices.map((name) => ({ name })),
    logPath: `${container.name}/${restartCount}.log`,
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    ...(stopSignal === undefined ? {} : { stopSignal: stopSignalNumber(stopSignal) }),
    linux: {
      resources: {
        cpuPeriod: limits.cpuPeriodUs,
        // 0 is unset, and a new cgroup has no quota. crun 1.8 cannot write -1 with cgroup v1.
        cpuQuota: options.placement.hasOwnCpus ? 0 : limits.cpuQuotaUs,
        cpuShares: limits.cpuShares,
        memoryLimitInBytes: limits.memoryLimitBytes,
        oomScoreAdj: limits.oomScoreAdj,
        cpusetCpus: options.placement.cpus,
        cpusetMems: options.placement.mems,
        memorySwapLimitInBytes: swap.memorySwapLimitBytes,
        ...(options.cgroupVersion === 2 ? { unified: unifiedOf(swap, options) } : {}),
      },
      securityContext: containerSecurityContext(options),
    },
  };
}

/** Values of files in the cgroup of version 2. */
function unifiedOf(
  { swapMaxBytes }: SwapLimits,
  { singleProcessOomKill }: ContainerOptions,
): Record<string, string> {
  return {
    ...(singleProcessOomKill ? {} : { "memory.oom.group": "1" }),
    ...(swapMaxBytes === undefined ? {} : { "memory.swap.max": String(swapMaxBytes) }),
  };
}

/** Files of mounts belong to the ids inside of the namespace. */
function idMappingsOf(
  userNamespace: UserNamespace | undefined,
): Pick<Mount, "uidMappings" | "gidMappings"> {
  const { uids = [], gids = [] } = userNamespace ?? {};
  return uids.length === 0 ? {} : { uidMappings: uids, gidMappings: gids };
}
